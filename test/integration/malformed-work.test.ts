/**
 * An attacker with the database login of the API appends work that no queue accepts: the dispatcher and the sweeper go
 * on with that of everybody else.
 */
import t from 'tap'
import { loginAs } from '../support/database-login.ts'
import { appendRaw, rawEvent } from '../support/raw-events.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withStage } from '../support/service-stage.ts'

const LONG_AGO = '2026-01-01T00:00:00.000Z'
const PLACE = { type: 'hd', label: '', network: 'ethereum', environment: 'mainnet' }
/** What is wrong with each: a job names its wallet and its tenant, with printable characters alone. */
const MALFORMED = [
  { walletId: 'wal_of_odd_tenant', tenantId: 'a b' },
  { walletId: 'wal of odd id', tenantId: 'acme' },
  { walletId: `wal_${'x'.repeat(300)}`, tenantId: 'acme' },
]

t.test('requests whose ids no queue accepts hold up no other work', async (t) => {
  const stage = await withStage(t)
  const { service } = stage
  const api = await loginAs(t, { pool: service.pool, url: service.places.database_url }, 'api')
  for (const { walletId, tenantId } of MALFORMED) {
    const data = JSON.stringify({ ...PLACE, chainId: 1000001, externalId: null, mpc: null, requestedAt: LONG_AGO })
    const metadata = JSON.stringify({ actor: 'attacker', tenantId })
    const event = { streamId: `wallet-${walletId}`, type: 'WalletRequested', data, metadata }
    const place = { ...PLACE, wallet_id: walletId, tenant_id: tenantId, chain_id: 1000001 }
    const row = { ...place, status: 'requested', key_ref: null, tags: [], created_at: LONG_AGO, version: 1 }
    await appendRaw(api, [rawEvent(event)], { wallets: [row] })
  }
  const [wallet] = await service.makeWallets(1)
  if (wallet === undefined) throw new Error('no wallet')
  await stage.until(wallet, await stage.send(wallet, '1'), 'submitted')
  for (const { walletId } of MALFORMED)
    await eventually(() => service.lines.some(({ id, queue }) => queue === 'wallet' && id === walletId))
  t.notOk(
    service.lines.some(({ source }) => source === 'wallets'),
    'no sweep fails',
  )
})
