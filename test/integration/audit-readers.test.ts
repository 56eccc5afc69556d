/**
 * Which events a key sees over HTTP: those of its environment, and their data with the scope that protects it
 * elsewhere.
 */

import t from 'tap'
import { auditRoutes } from '../../src/audit/routes.ts'
import { CATALOGUE } from '../../src/declarations.ts'
import { withAudit } from '../support/audit.ts'
import { told } from '../support/client.ts'
import { historyOf, insertEvent } from '../support/event-history.ts'
import { KEYS, startTestApp } from '../support/http.ts'

const { pool, takeCheckpoint, transfers } = await withAudit(t)
const { send } = await startTestApp({ routes: auditRoutes({ pool, catalogue: CATALOGUE }) })
const get = (url: string, key: string) => send({ url, headers: { authorization: `Bearer ${key}` } })

type Shown = {
  event_id: string
  stream_id: string
  type: string
  data: Record<string, unknown> | null
  needs_scope: string | null
  metadata: Record<string, unknown>
  hash: string
}
type Page = { events: Shown[]; next_after: string | null; has_more: boolean }

async function readAll(key: string, limit: number): Promise<Shown[]> {
  const seen: Shown[] = []
  for (let after = ''; ; ) {
    const page = (await get(`/v1/audit/events?limit=${limit}${after}`, key)).body.data as Page
    seen.push(...page.events)
    if (!page.has_more) return seen
    after = `&after=${encodeURIComponent(page.next_after ?? '')}`
  }
}

const [mine = ''] = await transfers(1)
// Signed before the rows below, whose hashes are not valid.
await takeCheckpoint()
const mainnet = historyOf('mainnet', 'm')
const testnet = historyOf('testnet', 't')
for (const [n, row] of mainnet.entries()) {
  await insertEvent(pool, ...row)
  await insertEvent(pool, ...(testnet[n] ?? row))
}
await insertEvent(pool, 'keyindexes-acme', 1, 'KeyIndexAllotted', { index: 0, walletId: 'wal_t' })
await insertEvent(pool, 'keyindexes-acme', 2, 'KeyIndexSkipped', { index: 1 })

t.test('a key reads the events of its own environment, in order, whatever the page', async (t) => {
  const expected = [...testnet.map(([stream, version]) => `evt_${stream}.${version}`), 'evt_keyindexes-acme.1']
  for (const limit of [1, 7, 1_000]) {
    const ids = (await readAll(KEYS.testnet, limit)).map(({ event_id }) => event_id)
    t.strictSame(ids, expected, `pages of ${limit} contain every event in order`)
  }
  const ofMainnet = (await readAll(KEYS.full, 5)).map(({ event_id }) => event_id)
  t.equal(ofMainnet.length, mainnet.length + 3 + 1)
  t.strictSame(
    ofMainnet.filter((id) => expected.includes(id)),
    [],
  )
})

t.test('a cursor, a filter or a proof of another environment is answered as not found', async (t) => {
  const foreign = 'evt_transaction-tx_m.1'
  for (const id of [foreign, 'evt_transaction-tx_nobody.1']) {
    const answer = await get(`/v1/audit/events?after=${id}`, KEYS.testnet)
    t.strictSame([answer.status, ...told(answer)], [422, 'after unknown_event'])
    t.strictSame(told(await get(`/v1/audit/proof/${id}`, KEYS.testnet)), ['- event_not_found'])
  }
  t.strictSame((await get('/v1/audit/events?stream=transaction-tx_m', KEYS.testnet)).body.data, {
    events: [],
    next_after: null,
    has_more: false,
  })
})

t.test('audit:read alone shows that an event exists, without its data', async (t) => {
  const seen = await readAll(KEYS.auditor, 100)
  const whole = await readAll(KEYS.full, 100)
  t.strictSame(
    seen.map(({ event_id, type, hash }) => [event_id, type, hash]),
    whole.map(({ event_id, type, hash }) => [event_id, type, hash]),
  )
  for (const { event_id, data, needs_scope, metadata } of seen) {
    t.equal(data, null, event_id)
    t.type(needs_scope, 'string', event_id)
    t.strictSame([metadata.tenantId, metadata.actor, metadata.idempotency], ['acme', 'test', undefined])
  }
  t.strictSame(Object.fromEntries(seen.map(({ type, needs_scope }) => [type, needs_scope])), {
    ApiKeyIssued: 'api_keys:read',
    ApiKeyRevoked: 'api_keys:read',
    AssetRegistered: 'assets:read',
    BalanceChanged: 'wallets:read',
    CancellationRequested: 'transactions:read',
    CollectionRequested: 'nft:read',
    KeyIndexSkipped: 'wallets:read',
    MessageSignatureRequested: 'signatures:read',
    MintRecorded: 'nft:read',
    MpcKeyAssigned: 'recovery:read',
    MpcSharesRefreshed: 'recovery:read',
    NftTransferRecorded: 'nft:read',
    RequestChangedNothing: '*',
    SignatureMade: 'signatures:read',
    TokenFrozen: 'nft:read',
    TokensMoved: 'nft:read',
    TransactionCancelled: 'transactions:read',
    TransactionSigned: 'transactions:write',
    TransferRequested: 'transactions:read',
    VoucherSigned: 'nft:read',
    WalletCreated: 'wallets:read',
    WalletExported: 'recovery:read',
    WalletExportRequested: 'recovery:read',
    WalletRequested: 'wallets:read',
  })
  for (const { data, needs_scope } of whole) {
    t.equal(needs_scope, null)
    t.type(data, Object)
  }
})

t.test('the proof of an event needs the scope that guards its data', async (t) => {
  const id = `evt_transaction-${mine}.1`
  const refused = await get(`/v1/audit/proof/${id}`, KEYS.auditor)
  t.strictSame([refused.status, ...told(refused)], [403, '- insufficient_scope'])
  t.match(refused.body.message, /transactions:read/)
  t.equal((await get(`/v1/audit/proof/${id}`, KEYS.full)).status, 200)
})
