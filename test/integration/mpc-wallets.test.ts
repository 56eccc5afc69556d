/** Mpc wallets and their keys in the log: one key per wallet and one wallet per key, with concurrency and crashes. */

import t, { type Test } from 'tap'
import { type BursarError, Unavailable } from '../../src/core/errors.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { keepPool } from '../../src/mpc-wallets/keep-pool.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { makeKey } from '../../src/wallets/make-key.ts'
import { readWallet } from '../../src/wallets/read-wallets.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import { watchWallet } from '../../src/wallets/watch-wallet.ts'
import {
  ALL_ALIVE,
  beatAs,
  differences,
  type MpcParts,
  makeMpcWallet,
  newId,
  requestMpc,
  signerOn,
  TERMS,
  withMpcKeys,
} from '../support/mpc-log-side.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ACME, anotherLog, hdRequest } from '../support/wallet-parts.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const

type KeyRow = { readonly key_id: string; readonly wallet_id: string | null; readonly address: string }

async function keysOf({ pool }: MpcParts): Promise<readonly KeyRow[]> {
  const { rows } = await pool.query<KeyRow>('SELECT key_id, wallet_id, address FROM mpc_keys ORDER BY key_id')
  return rows
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error: BursarError) => error.items[0]?.code ?? 'none',
  )
}

t.test('a wallet takes the oldest fitting key of the pool, and has one generated where none fits', async (t: Test) => {
  const parts = await withMpcKeys(t)
  for (const keyId of ['mpk_b', 'mpk_a']) await parts.generateKey(keyId, TERMS)
  const first = await makeMpcWallet(parts)
  t.equal(first.keyId, 'mpk_a')
  const other = { threshold: 2, parties: 2 }
  const id = await requestMpc(parts, other)
  await parts.makeMpcWallet(id)
  t.equal(parts.parties.begun.length, 3, 'a third key is generated because the pooled key does not fit')

  const owners = new Map((await keysOf(parts)).map(({ key_id, wallet_id }) => [key_id, wallet_id]))
  t.strictSame([owners.get('mpk_a'), owners.get('mpk_b'), owners.size], [first.walletId, null, 3])
  const view = await readWallet(parts, OWNER, id)
  t.match(view, { type: 'mpc', status: 'active', mpc: other, public_key: /^0x0[23][0-9a-f]{64}$/ })
  const [created] = (await parts.log.readStream(walletAggregate, id)).slice(1)
  t.match(created?.data, { publicKey: view.public_key, address: view.address, derivationPath: null, ...other })
  const events = await parts.log.readStream(mpcKeyAggregate, first.keyId)
  t.strictSame(
    events.map(({ type, metadata }) => [type, metadata.tenantId]),
    [
      ['MpcKeyGenerated', 'system'],
      ['MpcKeyAssigned', 'acme'],
    ],
  )
  t.strictSame(await differences(parts.pool), [])
})

t.test('a wallet that has its key, or is not of type mpc, is not changed', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const { walletId } = await makeMpcWallet(parts)
  await parts.makeMpcWallet(walletId)
  const hd = await requestWallet(parts, hdRequest(), { metadata: ACME })
  await parts.makeMpcWallet(hd.id)
  t.equal((await keysOf(parts)).length, 1)
  t.match(await parts.findWallet(OWNER, hd.id), { address: null })
  await t.rejects(parts.makeMpcWallet('wal_nobody'), { code: 'wallet_not_found', retryable: false })
})

t.test('the job of a wallet is for its type, and waits where no keys of that type are made', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const { log, makeHdWallet: hd, makeMpcWallet: mpc } = parts
  const ids = [await requestMpc(parts), (await requestWallet(parts, hdRequest(), { metadata: ACME })).id]
  await t.rejects(makeKey({ log }, { hd }, ids[0] ?? ''), { code: 'signer_unavailable', retryable: true })
  for (const id of [...ids, ...ids]) await makeKey({ log }, { hd, mpc }, id)
  const kinds = await Promise.all(ids.map(async (id) => (await parts.findWallet(OWNER, id)).key?.kind))
  t.strictSame(kinds, ['mpc', 'hd'])
})

t.test(
  'several signers that make wallets at once give each one key, and what is over stays in the pool',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    for (let n = 0; n < 5; n += 1) await parts.generateKey(newId('mpcKey'), TERMS)
    const ids = await Promise.all(Array.from({ length: 12 }, () => requestMpc(parts)))
    const signers = [0, 1, 2].map(() => signerOn(anotherLog(parts), parts.pool, parts.parties))
    const outcomes = await Promise.allSettled(
      signers.flatMap(({ makeMpcWallet }) => [...ids, ...ids].map((id) => makeMpcWallet(id))),
    )
    const lost = outcomes.filter(({ status }) => status === 'rejected').length
    for (const id of ids) await parts.makeMpcWallet(id)

    const keys = await keysOf(parts)
    const given = keys.filter(({ wallet_id }) => wallet_id !== null)
    t.comment(`${lost} of ${outcomes.length} jobs failed; ${keys.length - given.length} keys are in the pool`)
    t.strictSame(given.map(({ wallet_id }) => wallet_id).toSorted(), ids.toSorted())
    for (const { key_id, wallet_id, address } of given) {
      t.match(await parts.findWallet(OWNER, wallet_id ?? ''), { address, key: { kind: 'mpc', keyId: key_id } })
      const events = await parts.log.readStream(walletAggregate, wallet_id ?? '')
      t.strictSame(
        events.map(({ type }) => type),
        ['WalletRequested', 'WalletCreated'],
      )
    }
    t.strictSame(await differences(parts.pool), [])
  },
)

/** A log that dies around its nth append from now on. */
function dying(log: EventLog, nth: number, when: 'before' | 'after'): EventLog {
  let appends = 0
  async function around<T>(append: () => Promise<T>): Promise<T> {
    appends += 1
    const dies = appends === nth
    const appended = dies && when === 'before' ? null : await append()
    if (dies) throw new Unavailable('database_unavailable', 'gone')
    return appended as T
  }
  return {
    ...log,
    commit: createCommit((commit) => around(() => log.append(commit))),
    execute: (...command) => around(() => log.execute(...command)),
  }
}

t.test('whenever a signer dies while it makes a wallet, one wallet with one key results', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const { pool, log, parties, makeMpcWallet } = parts
  for (const nth of [1, 2]) {
    for (const when of ['before', 'after'] as const) {
      const id = await requestMpc(parts)
      const dead = signerOn(dying(log, nth, when), pool, parties)
      t.equal(await codeOf(dead.makeMpcWallet(id)), 'database_unavailable', `the signer dies ${when} append ${nth}`)
      await makeMpcWallet(id)
      t.match(await parts.findWallet(OWNER, id), { key: { kind: 'mpc' } })
    }
  }
  for (const party of [1, 3]) {
    const id = await requestMpc(parts)
    parties.onStep = (step) => {
      if (step.party === party) throw new Unavailable('mpc_ceremony_failed', 'a party died')
    }
    t.equal(await codeOf(makeMpcWallet(id)), 'mpc_ceremony_failed')
    parties.onStep = () => undefined
    await makeMpcWallet(id)
    t.match(await parts.findWallet(OWNER, id), { key: { kind: 'mpc' } }, `a wallet is made after party ${party} died`)
  }
  const wallets = (await keysOf(parts)).map(({ wallet_id }) => wallet_id)
  t.equal(new Set(wallets).size, 6)
  t.equal(wallets.length, 6, 'each wallet has one key, and keys of dead signers are used later')
  const ids = parties.begun.map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length, 'no two attempts share an id')
  t.strictSame(await differences(pool), [])
})

t.test('a key whose address the tenant watches already is passed over', async (t: Test) => {
  const parts = await withMpcKeys(t)
  await parts.generateKey('mpk_watched', TERMS)
  const [watched] = await keysOf(parts)
  const place = { network: 'ethereum', environment: 'mainnet', chainId: 1000001 } as const
  const address = watched?.address ?? ''
  await watchWallet(parts, { ...place, address, label: '', notifications: {} }, { metadata: ACME })
  const { keyId } = await makeMpcWallet(parts)
  t.not(keyId, 'mpk_watched')
  t.equal((await keysOf(parts)).find(({ key_id }) => key_id === 'mpk_watched')?.wallet_id, null)
})

t.test('a wallet is accepted when all its parties or a pooled key, and a signer, are available', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const { pool } = parts
  const request = (mpc: typeof TERMS | null = null, metadata: object = {}) =>
    codeOf(requestWallet(parts, hdRequest({ type: 'mpc', mpc }), { metadata: { ...ACME, ...metadata } }))
  await beatAs(pool, ['signer', 'mpc-party-1', 'mpc-party-2'])
  t.equal(await request(), 'signer_unavailable')
  t.equal(await request({ threshold: 2, parties: 2 }), 'accepted')
  await beatAs(pool, ALL_ALIVE)
  t.equal(await request(), 'accepted')
  await beatAs(pool, ['mpc-party-2'], 60)
  t.equal(await request(), 'signer_unavailable')
  await parts.generateKey(newId('mpcKey'), TERMS)
  t.equal(await request(), 'accepted')
  t.equal(await request({ threshold: 3, parties: 3 }), 'signer_unavailable', 'the pooled key does not fit the terms')
  await beatAs(pool, ['signer'], 60)
  t.equal(await request(), 'signer_unavailable')
  await beatAs(pool, ALL_ALIVE)
  t.equal(await request({ threshold: 2, parties: 4 }), 'too_many_parties')

  const idempotency = { key: 'k1', fingerprint: 'f' }
  t.equal(await request(TERMS, { idempotency }), 'accepted')
  await beatAs(pool, ALL_ALIVE, 60)
  t.equal(await request(TERMS, { idempotency }), 'accepted', 'the accepted request gets its first answer')
})

t.test(
  'the pool is filled one key at a time, after each wallet, and after parties were unavailable',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const { pool, log, parties } = parts
    let away = true
    let failures = 0
    parties.onStep = () => {
      if (away) throw new Unavailable('mpc_parties_unavailable', 'party 1 does not answer')
    }
    const stop = new AbortController()
    const onError = () => {
      failures += 1
    }
    const keeping = keepPool({ pool, log, newId, ceremonies: parties }, { terms: TERMS, size: 3 }, onError, stop.signal)
    await eventually(() => failures > 0)
    t.strictSame(await keysOf(parts), [])
    away = false
    const pooled = async () => (await keysOf(parts)).filter(({ wallet_id }) => wallet_id === null).length
    await eventually(async () => (await pooled()) === 3)
    await makeMpcWallet(parts)
    await eventually(async () => (await pooled()) === 3)
    t.equal((await keysOf(parts)).length, 4)
    t.equal(parties.mostAtOnce(), 1)
    stop.abort()
    await keeping
  },
)

t.test('no key is made ahead while requests wait for the parties', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const { pool, log, parties: ceremonies } = parts
  const wallet = await makeMpcWallet(parts)
  const texts = `'x', 'x', 'x', 'x', 'pending', 'x', 'x', 'x'`
  const transaction = () =>
    pool.query(
      `INSERT INTO transactions (transaction_id, wallet_id, state, chain_id, tenant_id, network, environment, type, status, from_address,
          to_address, asset_id, asset_symbol, asset_decimals, amount, gas_priority, hashes, fee_estimated, history, estimated_completion_at,
          created_at, updated_at, version)
       VALUES ('tx_1', $1, 'requested', 1, ${texts}, 'x', 18, 1, 'x', '[]', 1, '[]', now(), now(), now(), 1)`,
      [wallet.walletId],
    )
  const waiting: [begin: () => Promise<unknown>, age: string][] = [
    [transaction, `UPDATE transactions SET created_at = now() - interval '1 minute'`],
    [() => requestMpc(parts), `UPDATE wallets SET created_at = now() - interval '1 minute'`],
    [
      () => parts.requestRefresh(wallet, null, { metadata: ACME }),
      `UPDATE mpc_refreshes SET requested_at = now() - interval '1 minute'`,
    ],
  ]
  for (const [place, [begin, age]] of waiting.entries()) {
    await begin()
    const stop = new AbortController()
    const onError = (error: unknown) => t.fail(String(error))
    const keeping = keepPool({ pool, log, newId, ceremonies }, { terms: TERMS, size: place + 1 }, onError, stop.signal)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    t.equal((await keysOf(parts)).length, place + 1)
    await pool.query(age)
    await eventually(async () => (await keysOf(parts)).length === place + 2)
    stop.abort()
    await keeping
  }
})
