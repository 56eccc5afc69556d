/**
 * What assigns a key to a wallet, for everything that signs: the stream of the key, and not what the stream of a wallet
 * says. The attacker has the database login of a signer.
 */

import t from 'tap'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import { hdPath } from '../../src/keys/hd-path.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import type { WalletCreated, WalletKey } from '../../src/wallets/events.ts'
import { keyIndexesAggregate } from '../../src/wallets/key-indexes.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { roleUrls } from '../support/database-login.ts'
import { forge, logOf } from '../support/forge.ts'
import { ACME, beat, hdRequest, makeWallet, withWallets } from '../support/wallet-parts.ts'

const AT = '2026-01-01T00:00:00.000Z'
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const GLOBEX = { tenantId: 'globex', actor: 'test' }

const created = (key: WalletKey, address: string): WalletCreated => ({
  type: 'WalletCreated',
  data: {
    address,
    key,
    derivationPath: key.kind === 'hd' ? hdPath(key.index) : null,
    createdAt: AT,
    publicKey: null,
    threshold: null,
    parties: null,
  },
})

async function withThief(t: Parameters<typeof withWallets>[0]) {
  const parts = await withWallets(t)
  const urlAs = await roleUrls(t, parts.url)
  await beat(parts)
  return {
    ...parts,
    thiefsLog: logOf(t, urlAs('signer'), parts.wakeUps),
    /** Empty caches for each look. */
    walletOf: (id: string) => createSigningWalletOf(composeRecordedWallets(parts))(id),
    waiting: async (metadata = ACME) => (await requestWallet(parts, hdRequest(), { metadata })).id,
  }
}

t.test('a wallet has an index of a seed only if the log assigned it to this wallet first', async (t) => {
  const parts = await withThief(t)
  const { thiefsLog, walletOf, waiting } = parts
  const [first, second] = [await makeWallet(parts), await makeWallet(parts)]
  const { key, address } = await walletOf(first)
  t.match(await walletOf(second), { key: { kind: 'hd', tenantId: 'acme', index: 1 } })
  const thief = await waiting()
  await forge(thiefsLog, walletAggregate, thief, [created(key, address)], { metadata: ACME, rows: false })
  const assigned = { code: 'wallet_unfit', message: new RegExp(`assigns to wallet ${first}`) }
  await t.rejects(walletOf(thief), assigned, 'the index belongs to the first wallet')
  const again = { type: 'KeyIndexAllotted', data: { index: 0, walletId: thief, address, allottedAt: AT } } as const
  await forge(thiefsLog, keyIndexesAggregate, 'acme', [again], { metadata: ACME })
  await t.rejects(walletOf(thief), assigned, 'an index that is assigned again stays with its first wallet')
  t.match(await walletOf(first), { address }, 'the owner is not disturbed')
  const unassigned = await waiting()
  const free = { kind: 'hd', tenantId: 'acme', index: 77 } as const
  await forge(thiefsLog, walletAggregate, unassigned, [created(free, ADDRESS)], { metadata: ACME })
  await t.rejects(walletOf(unassigned), { code: 'wallet_unfit', message: /assigns to no wallet/ })
})

t.test('a wallet that names an index of the seed of another tenant cannot sign', async (t) => {
  const parts = await withThief(t)
  const { thiefsLog, walletOf, waiting } = parts
  const victim = await walletOf(await makeWallet(parts))
  const thief = await waiting(GLOBEX)
  await forge(thiefsLog, walletAggregate, thief, [created(victim.key, victim.address)], { metadata: GLOBEX })
  await t.rejects(walletOf(thief), { code: 'wallet_unfit' })
  const data = { index: 5, walletId: thief, address: ADDRESS, allottedAt: AT }
  await forge(thiefsLog, keyIndexesAggregate, 'acme', [{ type: 'KeyIndexAllotted', data }], { metadata: ACME })
  const other = await waiting(GLOBEX)
  const key = { kind: 'hd', tenantId: 'acme', index: 5 } as const
  await forge(thiefsLog, walletAggregate, other, [created(key, ADDRESS)], { metadata: GLOBEX })
  await t.rejects(walletOf(other), { code: 'wallet_unfit' }, 'not even if the log assigns it')
})

t.test('what opens a wallet or gives it its key a second time changes nothing', async (t) => {
  const parts = await withThief(t)
  const { thiefsLog, walletOf } = parts
  const [first, second] = [await makeWallet(parts), await makeWallet(parts)]
  const before = await walletOf(second)
  const { key, address } = await walletOf(first)
  await forge(thiefsLog, walletAggregate, second, [created(key, address)], { metadata: ACME, rows: false })
  t.strictSame(await walletOf(second), before)
})

t.test('a key of the parties belongs to the wallet that its own stream named first', async (t) => {
  const parts = await withThief(t)
  const { thiefsLog, walletOf, waiting } = parts
  const [owner, thief] = [await waiting(), await waiting(GLOBEX)]
  const keyId = 'mpk_1'
  const generated = { publicKey: '0x02', address: ADDRESS, threshold: 2, parties: [1, 2, 3], generatedAt: AT }
  const assignment = (walletId: string, tenantId: string) =>
    ({ type: 'MpcKeyAssigned', data: { walletId, tenantId, assignedAt: AT } }) as const
  const key = { kind: 'mpc', keyId } as const
  await forge(thiefsLog, mpcKeyAggregate, keyId, [{ type: 'MpcKeyGenerated', data: generated }], {
    metadata: { tenantId: 'system', actor: 'test' },
  })
  await forge(thiefsLog, walletAggregate, owner, [created(key, ADDRESS)], { metadata: ACME })
  await t.rejects(walletOf(owner), { code: 'wallet_unfit', message: /assigns to no wallet/ })
  await forge(thiefsLog, mpcKeyAggregate, keyId, [assignment(owner, 'acme')], { metadata: ACME })
  t.match(await walletOf(owner), { key, address: ADDRESS })
  await forge(thiefsLog, walletAggregate, thief, [created(key, ADDRESS)], { metadata: GLOBEX })
  await t.rejects(walletOf(thief), { code: 'wallet_unfit', message: new RegExp(`assigns to wallet ${owner}`) })
  for (const events of [
    [assignment(thief, 'globex')],
    [{ type: 'MpcKeyGenerated', data: { ...generated, threshold: 1 } } as const, assignment(thief, 'globex')],
  ]) {
    await forge(thiefsLog, mpcKeyAggregate, keyId, events, { metadata: GLOBEX })
    await t.rejects(walletOf(thief), { code: 'wallet_unfit' }, 'a key is assigned once')
    t.match(await walletOf(owner), { key }, 'and stays with its wallet')
  }
  const { state } = await parts.log.load(mpcKeyAggregate, keyId)
  t.match(state, { threshold: 2 })
})
