/** Share refreshes in the log: with any crashes and concurrent attempts, all parties use the shares of one attempt. */
import t, { type Test } from 'tap'
import { type BursarError, ChainRefused, Unavailable } from '../../src/core/errors.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { refreshWork } from '../../src/mpc-wallets/capability.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  accusationsOn,
  differences,
  jointKey,
  type MpcParts,
  makeMpcWallet,
  signerOn,
  withMpcKeys,
} from '../support/mpc-log-side.ts'
import { ACME, anotherLog } from '../support/wallet-parts.ts'

const MINUTE = 60_000

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error: BursarError) => error.items[0]?.code ?? 'none',
  )
}

function away(): never {
  throw new Unavailable('mpc_parties_unavailable', 'party 3 does not answer')
}

async function typesOf({ log }: MpcParts, keyId: string): Promise<string[]> {
  return (await log.readStream(mpcKeyAggregate, keyId)).map(({ type }) => type)
}

t.test('a refresh gives every party a new share, keeps the address and lifts the bans', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const wallet = await makeMpcWallet(parts)
  const { keyId } = wallet
  const before = await jointKey(parts, keyId)
  matchExactly(t, before, { epoch: 0, refreshId: null, banned: [], parties: [1, 2, 3], threshold: 2 })
  const accuse = accusationsOn(parts.log)
  for (const accusedBy of [1, 3]) await accuse({ keyId, party: 2, epoch: 0, accusedBy, reason: 'it lied' })
  t.strictSame((await jointKey(parts, keyId)).banned, [2])

  const { id } = await parts.requestRefresh(wallet, null, { metadata: { ...ACME, correlationId: 'req_1' } })
  await parts.refreshShares(keyId)
  const after = await jointKey(parts, keyId)
  t.match(after, { ...before, epoch: 1, refreshId: /^rfr_/ })
  t.not(after.refreshId, id, 'an attempt has its own id')
  t.ok(parts.parties.holdsAllOf(after))
  const last = (await parts.log.readStream(mpcKeyAggregate, keyId)).at(-1)
  t.match(last?.metadata, { tenantId: 'acme', actor: 'worker:signer', correlationId: 'req_1', causationId: id })
  t.match(await parts.findWallet({ tenantId: 'acme', environment: 'mainnet' }, wallet.walletId), {
    address: after.address,
  })

  const begun = parts.parties.begun.length
  await parts.refreshShares(keyId)
  t.equal(parts.parties.begun.length, begun, 'a repeated job does nothing')
  t.strictSame(await differences(parts.pool), [])
})

t.test('a lost share is repaired in a refresh that names it', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const wallet = await makeMpcWallet(parts)
  t.equal(await codeOf(parts.requestRefresh(wallet, 4, { metadata: ACME })), 'not_allowed')
  await parts.requestRefresh(wallet, 3, { metadata: ACME })
  await parts.refreshShares(wallet.keyId)
  t.match(parts.parties.begun.at(-1), { ceremony: 'prepareRecovery', party: 3 })
  const last = (await parts.log.readStream(mpcKeyAggregate, wallet.keyId)).at(-1)
  t.match(last, { type: 'MpcSharesRefreshed', data: { epoch: 1, reason: 'recovery', party: 3 } })
})

t.test('an attempt that fails is followed by another one, which has another id', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const wallet = await makeMpcWallet(parts)
  const { keyId } = wallet
  await parts.requestRefresh(wallet, null, { metadata: ACME })
  parts.parties.onStep = ({ party }) => {
    if (party === 3) away()
  }
  for (let tries = 1; tries <= 2; tries += 1)
    t.equal(await codeOf(parts.refreshShares(keyId)), 'mpc_parties_unavailable')
  t.match(await jointKey(parts, keyId), { epoch: 0, refreshId: null }, 'shares at two of three parties do not count')
  parts.parties.onStep = () => undefined
  await parts.refreshShares(keyId)
  const key = await jointKey(parts, keyId)
  t.equal(key.epoch, 1)
  t.ok(parts.parties.holdsAllOf(key))
  const attempts = parts.parties.begun.filter(({ ceremony }) => ceremony === 'prepareRefresh').map(({ id }) => id)
  t.strictSame([attempts.length, new Set(attempts).size, attempts.at(-1)], [3, 3, key.refreshId])
})

t.test(
  'a signer that dies around the append leaves all parties with the shares that the log names',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const wallet = await makeMpcWallet(parts)
    const { keyId } = wallet
    for (const [index, when] of (['before', 'after'] as const).entries()) {
      await parts.requestRefresh(wallet, null, { metadata: ACME })
      const execute: EventLog['execute'] = async (...command) => {
        if (when === 'after') await parts.log.execute(...command)
        throw new Unavailable('database_unavailable', 'gone')
      }
      const dead = signerOn({ ...parts.log, execute }, parts.pool, parts.parties)
      t.equal(await codeOf(dead.refreshShares(keyId)), 'database_unavailable')
      await parts.refreshShares(keyId)
      const key = await jointKey(parts, keyId)
      t.equal(key.epoch, index + 1)
      t.ok(parts.parties.holdsAllOf(key))
    }
    t.strictSame((await typesOf(parts, keyId)).filter((type) => type === 'MpcSharesRefreshed').length, 2)
  },
)

t.test(
  'when signers refresh the same key at the same time, one attempt is valid, and all parties hold it',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const wallet = await makeMpcWallet(parts)
    const { keyId } = wallet
    // The first waits for another one to begin: each is over in milliseconds.
    parts.parties.onStep = async () => {
      while (parts.parties.mostAtOnce() < 2) await new Promise(setImmediate)
    }
    for (let epoch = 1; epoch <= 3; epoch += 1) {
      await parts.requestRefresh(wallet, null, { metadata: ACME })
      const signers = Array.from({ length: 4 }, () => signerOn(anotherLog(parts), parts.pool, parts.parties))
      await Promise.all(signers.map(({ refreshShares }) => refreshShares(keyId)))
      const key = await jointKey(parts, keyId)
      t.equal(key.epoch, epoch)
      t.ok(parts.parties.holdsAllOf(key))
    }
    t.ok(parts.parties.mostAtOnce() > 1, 'the refreshes ran at the same time')
    t.strictSame(await differences(parts.pool), [])
  },
)

t.test(
  'a refresh is given up after five minutes, or at once when it can never succeed, and the next may be asked for',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const wallet = await makeMpcWallet(parts)
    const { keyId } = wallet
    let aheadMs = 0
    const signer = signerOn(parts.log, parts.pool, parts.parties, () => Date.now() + aheadMs)
    const first = await parts.requestRefresh(wallet, null, { metadata: ACME })
    parts.parties.onStep = away
    aheadMs = 4 * MINUTE
    t.equal(await codeOf(signer.refreshShares(keyId)), 'mpc_parties_unavailable')
    t.equal(await codeOf(parts.requestRefresh(wallet, 3, { metadata: ACME })), 'refresh_in_progress')
    aheadMs = 5 * MINUTE
    await signer.refreshShares(keyId)
    t.strictSame(signer.givenUp, [first.id])
    const failure = async () => {
      const { rows } = await parts.pool.query(
        'SELECT status, epoch, failure FROM mpc_refreshes ORDER BY refresh_id DESC LIMIT 1',
      )
      return rows[0]
    }
    const message = 'party 3 does not answer'
    t.strictSame(await failure(), { status: 'failed', epoch: 0, failure: { code: 'mpc_parties_unavailable', message } })

    aheadMs = 0
    const second = await parts.requestRefresh(wallet, 3, { metadata: ACME })
    parts.parties.onStep = () => {
      throw new ChainRefused('mpc_share_lost', 'party 2 has no share')
    }
    await signer.refreshShares(keyId)
    t.strictSame(signer.givenUp, [first.id, second.id])

    await parts.requestRefresh(wallet, null, { metadata: ACME })
    aheadMs = 6 * MINUTE
    parts.parties.onStep = () => {
      throw new Error('a defect that speaks of secrets')
    }
    await signer.refreshShares(keyId)
    t.match(await failure(), { failure: { code: 'mpc_ceremony_failed', message: /^The parties could not/ } })
    t.match(await jointKey(parts, keyId), { epoch: 0, refreshId: null })
    t.strictSame(await differences(parts.pool), [])
  },
)

t.test('an attempt that ends after its refresh was given up changes nothing', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const wallet = await makeMpcWallet(parts)
  const { keyId } = wallet
  await parts.requestRefresh(wallet, null, { metadata: ACME })
  let isPaused = false
  let goOn: () => void = () => undefined
  const paused = new Promise<void>((resolve) => {
    goOn = resolve
  })
  parts.parties.onStep = async ({ party }) => {
    if (party !== 2 || isPaused) return
    isPaused = true
    await paused
  }
  const slow = parts.refreshShares(keyId)
  while (!isPaused) await new Promise((resolve) => setTimeout(resolve, 5))
  parts.parties.onStep = away
  await signerOn(parts.log, parts.pool, parts.parties, () => Date.now() + 6 * MINUTE).refreshShares(keyId)
  parts.parties.onStep = () => undefined
  await parts.requestRefresh(wallet, null, { metadata: ACME })
  goOn()
  await slow
  t.match(await jointKey(parts, keyId), { epoch: 0, refreshId: null }, 'the late attempt does not end the next refresh')
  await parts.refreshShares(keyId)
  const key = await jointKey(parts, keyId)
  t.equal(key.epoch, 1)
  t.ok(parts.parties.holdsAllOf(key))
})

t.test('one idempotency key causes one refresh, however often it is used', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const wallet = await makeMpcWallet(parts)
  const idempotency = { key: 'k1', fingerprint: 'f' }
  const ask = (print = 'f') =>
    parts.requestRefresh(wallet, null, { metadata: { ...ACME, idempotency: { ...idempotency, fingerprint: print } } })
  const all = await Promise.all(Array.from({ length: 10 }, () => ask()))
  t.equal(new Set(all.map(({ id }) => id)).size, 1)
  t.equal(all.filter(({ replayed }) => !replayed).length, 1)
  t.equal(await codeOf(ask('other')), 'idempotency_key_reused')
  t.equal(await codeOf(parts.requestRefresh(wallet, null, { metadata: ACME })), 'refresh_in_progress')
  await parts.refreshShares(wallet.keyId)
  t.match(await ask(), { id: all[0]?.id, replayed: true })
  t.equal((await jointKey(parts, wallet.keyId)).epoch, 1)
})

t.test('a refresh whose job was lost is found again, once it is old enough', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const wallet = await makeMpcWallet(parts)
  await parts.requestRefresh(wallet, null, { metadata: ACME })
  t.strictSame(await refreshWork.findQuiet(parts.pool, new Date(Date.now() - MINUTE), 10), [])
  const found = await refreshWork.findQuiet(parts.pool, new Date(Date.now() + 1_000), 10)
  t.strictSame(found, [{ queue: 'shares', id: wallet.keyId, data: { key_id: wallet.keyId } }])
  await parts.refreshShares(wallet.keyId)
  t.strictSame(await refreshWork.findQuiet(parts.pool, new Date(Date.now() + 1_000), 10), [])
  await t.rejects(parts.refreshShares('mpk_nobody'), { code: 'mpc_key_not_found', retryable: false })
})
