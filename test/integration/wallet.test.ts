/** Wallets on a real PostgreSQL: one key per wallet and one wallet per key, with concurrency and repeated jobs. */
import t, { type Test } from 'tap'
import { type BursarError, Unavailable } from '../../src/core/errors.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { archiveWallet } from '../../src/wallets/archive-wallet.ts'
import type { WalletEvent } from '../../src/wallets/events.ts'
import { walletWork } from '../../src/wallets/jobs.ts'
import { keyIndexesAggregate } from '../../src/wallets/key-indexes.ts'
import { readWallet } from '../../src/wallets/read-wallets.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import { restoreWallet } from '../../src/wallets/restore-wallet.ts'
import { createWalletFacts } from '../../src/wallets/wallet-facts.ts'
import { watchWallet } from '../../src/wallets/watch-wallet.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  ACME,
  anotherLog,
  beat,
  hdMaker,
  hdRequest,
  makeWallet,
  NEVER_RESTORED,
  testSigner,
  type WalletParts,
  withWallets,
} from '../support/wallet-parts.ts'

const GLOBEX = { ...ACME, tenantId: 'globex' }
const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const

function metadata(key: string, fingerprint = 'f') {
  return { ...ACME, idempotency: { key, fingerprint } }
}

function watchRequest(address: string, overrides = {}) {
  const place = { network: 'ethereum', environment: 'mainnet', chainId: 1000001 } as const
  return { ...place, address, label: '', notifications: {}, ...overrides }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error: BursarError) => error.items[0]?.code ?? 'none',
  )
}

async function requested(parts: WalletParts): Promise<string> {
  await beat(parts)
  return (await requestWallet(parts, hdRequest(), { metadata: ACME })).id
}

async function indexesOf({ log }: WalletParts, tenantId = 'acme'): Promise<number[]> {
  const events = await log.readStream(keyIndexesAggregate, tenantId)
  return events.map(({ data }) => (data as { index: number }).index)
}

t.test(
  'wallets that several signers make at once, each more than once, get one key each, and no index is lost',
  async (t: Test) => {
    const parts = await withWallets(t)
    await beat(parts)
    const opened = await Promise.all(
      Array.from({ length: 40 }, () => requestWallet(parts, hdRequest(), { metadata: ACME })),
    )
    const ids = opened.map(({ id }) => id)
    const signers = [0, 1, 2].map(() =>
      hdMaker({ ...parts, ...NEVER_RESTORED, log: anotherLog(parts), signer: testSigner() }),
    )
    const outcomes = await Promise.allSettled(signers.flatMap((create) => [...ids, ...ids].map((id) => create(id))))
    // A signer that lost too many races gives up; its job would be retried.
    const lost = outcomes.filter(({ status }) => status === 'rejected').length
    for (const id of ids) await parts.makeHdWallet(id)
    t.comment(`${lost} of ${outcomes.length} jobs failed for retry`)

    const { rows } = await parts.pool.query<{ address: string; index: number }>(
      `SELECT address, (key_ref->>'index')::int AS index FROM wallets WHERE status = 'active' ORDER BY 2`,
    )
    const gapless = ids.map((_, place) => place)
    t.strictSame(
      rows.map(({ index }) => index),
      gapless,
    )
    t.equal(new Set(rows.map(({ address }) => address)).size, ids.length)
    t.strictSame(await indexesOf(parts), gapless)
    for (const { id, state } of await parts.log.loadMany(walletAggregate, ids)) {
      t.match(state, { status: 'active' })
      t.strictSame(
        (await parts.log.readStream<WalletEvent>(walletAggregate, id)).map(({ type }) => type),
        ['WalletRequested', 'WalletCreated'],
      )
    }
  },
)

t.test('a key is the child of its index of the tenant seed, and tenants share none', async (t: Test) => {
  const parts = await withWallets(t)
  await makeWallet(parts)
  const second = await makeWallet(parts)
  const foreign = await makeWallet(parts, {}, GLOBEX)
  const [event] = (await parts.log.readStream<WalletEvent>(walletAggregate, second)).slice(1)
  const expected = await testSigner().createKey({ kind: 'hd', tenantId: 'acme', index: 1 })
  t.match(event?.data, { ...expected, derivationPath: "m/44'/60'/0'/0/1" })
  t.match(await parts.findWallet({ tenantId: 'globex', environment: 'mainnet' }, foreign), {
    key: { tenantId: 'globex', index: 0 },
  })
})

t.test(
  'a signer that dies around its append uses up no index, and the next try finishes the wallet',
  async (t: Test) => {
    const parts = await withWallets(t)
    await beat(parts)
    const dying = (when: 'before' | 'after'): EventLog => ({
      ...parts.log,
      commit: createCommit(async (commit) => {
        if (when === 'after') await parts.log.append(commit)
        throw new Unavailable('database_unavailable', 'gone')
      }),
    })
    for (const [index, when] of (['before', 'after'] as const).entries()) {
      const { id } = await requestWallet(parts, hdRequest(), { metadata: ACME })
      const create = hdMaker({ ...parts, ...NEVER_RESTORED, log: dying(when), signer: testSigner() })
      await t.rejects(create(id), { code: 'database_unavailable' })
      await parts.makeHdWallet(id)
      t.match(await parts.findWallet(OWNER, id), { key: { index } })
    }
    t.strictSame(await indexesOf(parts), [0, 1])
  },
)

t.test('an index whose address the tenant watches already is passed over', async (t: Test) => {
  const parts = await withWallets(t)
  const { address } = await testSigner().createKey({ kind: 'hd', tenantId: 'acme', index: 0 })
  await watchWallet(parts, watchRequest(address), { metadata: ACME })
  const id = await makeWallet(parts)
  t.match(await parts.findWallet(OWNER, id), { key: { index: 1 } })
  t.strictSame(
    (await parts.log.readStream(keyIndexesAggregate, 'acme')).map(({ type }) => type),
    ['KeyIndexSkipped', 'KeyIndexAllotted'],
  )
})

t.test('without a signer nothing is recorded, and a replay is still answered', async (t: Test) => {
  const parts = await withWallets(t)
  t.equal(await codeOf(requestWallet(parts, hdRequest(), { metadata: metadata('k1') })), 'signer_unavailable')
  await beat(parts, 20)
  t.equal(await codeOf(requestWallet(parts, hdRequest(), { metadata: metadata('k1') })), 'signer_unavailable')
  await beat(parts)
  t.equal(
    await codeOf(requestWallet(parts, hdRequest({ type: 'mpc' }), { metadata: metadata('k1') })),
    'signer_unavailable',
  )
  const { rows } = await parts.pool.query(
    'SELECT (SELECT count(*) FROM events)::int AS events, (SELECT count(*) FROM idempotency_keys)::int AS keys',
  )
  t.strictSame(rows, [{ events: 0, keys: 0 }])

  const first = await requestWallet(parts, hdRequest(), { metadata: metadata('k1') })
  t.equal(first.replayed, false)
  await beat(parts, 60)
  t.match(await requestWallet(parts, hdRequest(), { metadata: metadata('k1') }), { id: first.id, replayed: true })
  t.equal(
    await codeOf(requestWallet(parts, hdRequest(), { metadata: metadata('k1', 'other') })),
    'idempotency_key_reused',
  )
})

t.test(
  'simultaneous requests with one idempotency key make one wallet, and with one external_id too',
  async (t: Test) => {
    const parts = await withWallets(t)
    await beat(parts)
    const replays = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const opened = await requestWallet(parts, hdRequest(), { metadata: metadata('k1') })
        // A caller that gets a wallet's id can read it, also the second one in the same batch.
        t.match(await readWallet(parts, OWNER, opened.id), { wallet_id: opened.id })
        return opened
      }),
    )
    t.equal(new Set(replays.map(({ id }) => id)).size, 1)
    t.equal(replays.filter(({ replayed }) => !replayed).length, 1)

    const named = await Promise.all(
      Array.from({ length: 20 }, () =>
        codeOf(requestWallet(parts, hdRequest({ externalId: 'c1' }), { metadata: ACME })),
      ),
    )
    t.strictSame(named.toSorted(), ['accepted', ...Array.from({ length: 19 }, () => 'external_id_taken')])
    t.equal(await codeOf(requestWallet(parts, hdRequest({ externalId: 'c1' }), { metadata: GLOBEX })), 'accepted')
  },
)

t.test('an address is watched once per tenant and network, and never when it is an own wallet', async (t: Test) => {
  const parts = await withWallets(t)
  const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const codes = await Promise.all(
    Array.from({ length: 10 }, () => codeOf(watchWallet(parts, watchRequest(address), { metadata: ACME }))),
  )
  t.strictSame(codes.toSorted(), ['accepted', ...Array.from({ length: 9 }, () => 'watch_exists')])
  t.equal(await codeOf(watchWallet(parts, watchRequest(address), { metadata: GLOBEX })), 'accepted')
  t.equal(
    await codeOf(
      watchWallet(parts, watchRequest(address, { network: 'polygon', chainId: 1000137 }), { metadata: ACME }),
    ),
    'accepted',
  )

  const own = await parts.findWallet(OWNER, await makeWallet(parts))
  const refused = watchWallet(parts, watchRequest(own.address ?? ''), { metadata: ACME })
  await t.rejects(refused, { code: 'address_is_own_wallet', details: { wallet_id: own.walletId } })
})

t.test('a restored wallet does not get back an address that is watched again', async (t: Test) => {
  const parts = await withWallets(t)
  const wallet = await parts.findWallet(OWNER, await makeWallet(parts))
  await archiveWallet(parts, wallet, { force: false, metadata: ACME })
  const watch = await watchWallet(parts, watchRequest(wallet.address ?? ''), { metadata: ACME })
  await t.rejects(restoreWallet(parts, wallet, { metadata: ACME }), {
    code: 'address_in_use',
    details: { wallet_id: watch.id },
  })
  await archiveWallet(parts, await parts.findWallet(OWNER, watch.id), { force: false, metadata: ACME })
  await restoreWallet(parts, wallet, { metadata: ACME })
  await restoreWallet(parts, wallet, { metadata: ACME })
  t.match(await readWallet(parts, OWNER, wallet.walletId), { status: 'active', archived_at: null })
  const types = (await parts.log.readStream<WalletEvent>(walletAggregate, wallet.walletId)).map(({ type }) => type)
  t.strictSame(types, ['WalletRequested', 'WalletCreated', 'WalletArchived', 'WalletRestored'])
})

t.test(
  'a wallet is found by its owner only; simultaneous misses are one query, and cached reads none',
  async (t: Test) => {
    const parts = await withWallets(t)
    const ids = await Promise.all(Array.from({ length: 3 }, () => makeWallet(parts)))
    let queries = 0
    const counting = new Proxy(parts.pool, {
      get(pool, property) {
        if (property === 'query') queries += 1
        const value = Reflect.get(pool, property) as unknown
        return typeof value === 'function' ? value.bind(pool) : value
      },
    })
    const factsOf = createWalletFacts(counting)
    const unknown = 'wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
    const found = await Promise.all([...ids, ...ids, unknown].map((id) => factsOf(id)))
    t.equal(queries, 1)
    t.strictSame(
      found.map((facts) => facts?.walletId ?? null),
      [...ids, ...ids, null],
    )
    await Promise.all(ids.map((id) => factsOf(id)))
    t.equal(queries, 1)

    const [id = ''] = ids
    const refusals = [parts.findWallet({ ...OWNER, tenantId: 'globex' }, id), parts.findWallet(OWNER, unknown)]
    const items = await Promise.all(
      refusals.map((refusal) =>
        refusal.then(
          () => [],
          (error: BursarError) => error.items,
        ),
      ),
    )
    t.strictSame(items[0], items[1], 'a foreign wallet is refused like a missing one')
    matchExactly(t, items[0], [{ type: 'not_found', code: 'wallet_not_found' }])
    t.equal(await codeOf(parts.findWallet({ ...OWNER, environment: 'testnet' }, id)), 'environment_mismatch')
  },
)

t.test('a wallet without its address is not cached', async (t: Test) => {
  const parts = await withWallets(t)
  const id = await requested(parts)
  t.match(await parts.findWallet(OWNER, id), { address: null })
  await parts.makeHdWallet(id)
  t.match(await parts.findWallet(OWNER, id), { address: /^0x/ })
})

t.test('a request that waits for an address is answered as soon as it exists, or that it does not', async (t: Test) => {
  const parts = await withWallets(t)
  const id = await requested(parts)
  t.equal(await parts.waitForWallet(id, 50), null)
  const waiting = Promise.all([parts.waitForWallet(id, 60_000), parts.waitForWallet(id, 60_000)])
  await hdMaker({ ...parts, ...NEVER_RESTORED, log: anotherLog(parts), signer: testSigner() })(id)
  const { address } = await parts.findWallet(OWNER, id)
  matchExactly(t, await waiting, [{ address }, { address }])
})

t.test('a requested wallet whose job was lost is found again after a while', async (t: Test) => {
  const parts = await withWallets(t)
  await makeWallet(parts)
  const { id } = await requestWallet(parts, hdRequest(), { metadata: ACME })
  t.strictSame(await walletWork.findQuiet(parts.pool, new Date(Date.now() - 60_000), 10), [])
  t.strictSame(await walletWork.findQuiet(parts.pool, new Date(Date.now() + 1_000), 10), [
    { queue: 'wallet', id, data: { wallet_id: id } },
  ])
  await t.rejects(parts.makeHdWallet('wal_nobody'), { code: 'wallet_not_found', retryable: false })
})
