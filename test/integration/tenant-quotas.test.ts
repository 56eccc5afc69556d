/**
 * Quotas of a tenant over HTTP on a real database: which requests are refused, with which error, and which still
 * succeed.
 */
import t, { type Test } from 'tap'
import { usageCounts } from '../../src/compose/capabilities.ts'
import type { CountedQuota } from '../../src/core/registry.ts'
import { CATALOGUE } from '../../src/declarations.ts'
import { markReplayed } from '../../src/http/idempotency.ts'
import type { Routes } from '../../src/http/request.ts'
import type { TenantQuotas } from '../../src/http/tenant-quotas.ts'
import { countUsage } from '../../src/quotas/count-usage.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { told } from '../support/client.ts'
import { type Answer, KEYS, startTestApp, WITHOUT_QUOTAS } from '../support/http.ts'
import { seedWallet, transferIntent, withLog } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { CREATE, dataOf, WATCH, type WalletApi, walletApi } from '../support/wallet-api.ts'
import { ACME, beat, type WalletParts, withWallets } from '../support/wallet-parts.ts'

const ADDRESSES = [
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
]
const NOW = '2026-01-01T00:00:00.000Z'
const THING = {
  tags: ['Things'],
  operationId: 'createThing',
  summary: 'Create a thing',
  description: 'Creates a thing.',
}
/** One unfinished item of each kind for acme, one finished, and some of globex. */
const OPEN_CEREMONIES = `
  INSERT INTO signatures (signature_id, tenant_id, wallet_id, network, environment, chain_id, type, address, digest, signature, created_at, version)
    VALUES ('sig_1', 'acme', 'w', '', '', 1, '', '', '', NULL, now(), 1), ('sig_2', 'acme', 'w', '', '', 1, '', '', '', '0x', now(), 2),
           ('sig_3', 'globex', 'w', '', '', 1, '', '', '', NULL, now(), 1);
  INSERT INTO nft_mints VALUES ('m_1', 'acme', 'c', 'LAZY', now(), 1), ('m_2', 'acme', 'c', 'LAZY', now(), 1), ('m_3', 'globex', 'c', 'LAZY', now(), 1);
  INSERT INTO nft_vouchers (mint_id, wallet_id, chain_id, contract, signature, created_at, version)
    VALUES ('m_1', 'w', 1, '', NULL, now(), 1), ('m_2', 'w', 1, '', '0x', now(), 2), ('m_3', 'w', 1, '', NULL, now(), 1);
  INSERT INTO mpc_keys (key_id, wallet_id, tenant_id, public_key, address, threshold, parties, epoch, banned, refreshed_at, version)
    VALUES ('k_1', 'w_1', 'acme', '', '', 2, 3, 0, '[]', now(), 1), ('k_2', 'w_2', 'globex', '', '', 2, 3, 0, '[]', now(), 1);
  INSERT INTO mpc_refreshes (refresh_id, key_id, reason, status, epoch, requested_at)
    VALUES ('r_1', 'k_1', 'requested', 'pending', 1, now()), ('r_2', 'k_1', 'requested', 'done', 1, now()), ('r_3', 'k_2', 'requested', 'pending', 1, now());
  INSERT INTO wallet_exports (export_id, tenant_id, wallet_id, environment, recipient, status, requested_at, version)
    VALUES ('x_1', 'acme', 'w', '', '', 'requested', now(), 1), ('x_2', 'acme', 'w', '', '', 'exported', now(), 2), ('x_3', 'globex', 'w', '', '', 'requested', now(), 1);`
const ASYNC = { prefer: 'respond-async' }

async function withParts(t: Test): Promise<WalletParts> {
  const parts = await withWallets(t)
  await beat(parts)
  return parts
}

async function countEvents({ pool }: WalletParts): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')
  return rows[0]?.n ?? -1
}

function create({ post }: WalletApi, key: string, headers: Record<string, string> = ASYNC): Promise<Answer> {
  return post('/v1/wallets/create', CREATE, { 'idempotency-key': key, ...headers })
}

t.test('simultaneous wallet requests get at most the quota, and refused ones are not recorded', async (t) => {
  const parts = await withParts(t)
  const api = await walletApi(t, parts, { QUOTA_WALLETS: '3' })
  const keys = Array.from({ length: 12 }, (_, n) => `wallet-${n}`)
  const answers = await Promise.all(keys.map((key) => create(api, key)))
  const accepted = answers.filter(({ status }) => status === 202)
  t.equal(accepted.length, 3)
  t.equal(await countEvents(parts), 3)
  const refused = answers.find(({ status }) => status === 429)
  matchExactly(t, refused?.body.errors, [
    {
      type: 'rate_limit_error',
      code: 'quota_wallets',
      message: /quota of 3 wallets.*QUOTA_WALLETS/,
      details: { quota: 'wallets', setting: 'QUOTA_WALLETS', limit: 3, used: 3, remaining: 0 },
    },
  ])
  t.match(refused?.headers, { 'ratelimit-limit': '3', 'ratelimit-remaining': '0', 'retry-after': undefined })
  t.match(await api.metrics.registry.metrics(), /bursar_quota_refusals_total\{quota="wallets",[^}]*\} 9\n/)

  const replays = await Promise.all(keys.map((key) => create(api, key)))
  t.strictSame(
    replays.map(({ status, headers }) => [status, headers['idempotency-replayed']]),
    answers.map(({ status }) => [status, status === 202 ? 'true' : undefined]),
    'accepted requests are replayed, and refused ones are refused again',
  )
  const reused = await api.post('/v1/wallets/create', { ...CREATE, label: 'x' }, { 'idempotency-key': keyOf(accepted) })
  t.strictSame(told(reused), ['- idempotency_key_reused'])
  t.equal(await countEvents(parts), 3)

  const another = await walletApi(t, parts, { QUOTA_WALLETS: '3' })
  t.strictSame(told(await create(another, 'elsewhere')), ['- quota_wallets'], 'another API process has the same count')
  const foreign = await create(api, 'foreign', { ...ASYNC, authorization: `Bearer ${KEYS.cold}` })
  t.equal(foreign.status, 202, 'another tenant has its own quota')

  function keyOf(all: readonly Answer[]): string {
    return keys[answers.indexOf(all[0] as Answer)] ?? ''
  }
})

t.test(
  'archiving does not reduce the count, since the address is followed, and a refused request is not counted',
  async (t) => {
    const parts = await withParts(t)
    const api = await walletApi(t, parts, { QUOTA_WATCHED_ADDRESSES: '2', QUOTA_WALLETS: '1' })
    const watch = (n: number) => api.post('/v1/wallets/watch', { ...WATCH, address: ADDRESSES[n] })
    const first = await watch(0)
    for (let n = 0; n < 3; n += 1) t.strictSame(told(await watch(0)), ['- watch_exists'])
    t.equal((await watch(1)).status, 201)
    t.strictSame(told(await watch(2)), ['- quota_watched_addresses'])
    t.equal((await api.remove(`/v1/wallets/${dataOf(first).wallet_id}`)).status, 200)
    t.strictSame(told(await watch(2)), ['- quota_watched_addresses'])

    const wallet = dataOf(await create(api, 'one')).wallet_id
    await parts.makeHdWallet(wallet)
    t.equal((await api.remove(`/v1/wallets/${wallet}`)).status, 200)
    t.strictSame(told(await create(api, 'two')), ['- quota_wallets'])
  },
)

t.test('an override replaces a quota for one tenant, and 0 removes it', async (t) => {
  const parts = await withParts(t)
  const api = await walletApi(t, parts, { QUOTA_WALLETS: '1', QUOTA_OVERRIDES: 'acme:wallets=2, globex:wallets=0' })
  const globex = { ...ASYNC, authorization: `Bearer ${KEYS.cold}` }
  t.equal((await create(api, 'a1')).status, 202)
  t.equal((await create(api, 'a2')).status, 202)
  t.strictSame(told(await create(api, 'a3')), ['- quota_wallets'])
  for (const key of ['g1', 'g2', 'g3']) t.equal((await create(api, key, globex)).status, 202)
})

t.test('a wallet whose key is not made holds a ceremony until it is', async (t) => {
  const parts = await withParts(t)
  const api = await walletApi(t, parts, { QUOTA_CEREMONIES: '1' })
  const first = dataOf(await create(api, 'first')).wallet_id
  const refused = await create(api, 'second')
  t.strictSame(told(refused), ['- quota_ceremonies'])
  t.equal(refused.headers['retry-after'], '1')
  await parts.makeHdWallet(first)
  t.equal((await until(() => create(api, 'second'))).status, 202)
})

t.test('a request that waits is in flight until it is answered', async (t) => {
  const parts = await withParts(t)
  const api = await walletApi(t, parts, { QUOTA_REQUESTS_IN_FLIGHT: '1' })
  const waiting = create(api, 'waits', { prefer: 'wait=60' })
  const wallet = await openedWallet(parts)
  const refused = await api.get(`/v1/wallets/${wallet}`)
  t.strictSame(told(refused), ['- quota_requests_in_flight'])
  t.match(refused.headers, { 'ratelimit-limit': '1', 'ratelimit-remaining': '0', 'retry-after': '1' })
  const foreign = await api.get('/v1/wallets', undefined, { authorization: `Bearer ${KEYS.cold}` })
  t.equal(foreign.status, 200)
  await parts.makeHdWallet(wallet)
  t.equal((await waiting).status, 201)
  t.equal((await api.get(`/v1/wallets/${wallet}`)).status, 200)
  t.equal((await api.get('/v1/wallets', undefined, { cursor: 'x' })).status, 200, 'an answer frees its place')
})

t.test('a tenant that moves more bytes than its rate is refused before its body is read', async (t) => {
  const parts = await withParts(t)
  const api = await walletApi(t, parts, { QUOTA_BYTES_PER_SECOND: '100' })
  const body = { ...WATCH, label: 'x'.repeat(40_000) }
  t.strictSame(told(await api.post('/v1/wallets/watch', body)), ['label invalid_text'])
  const refused = await api.post('/v1/wallets/watch', body)
  t.strictSame(told(refused), ['- quota_bytes_per_second'])
  t.ok(Number(refused.headers['retry-after']) >= 10, 'the tenant waits at least 10 s after 40,000 bytes')
  t.equal((await api.get('/v1/wallets', undefined, { authorization: `Bearer ${KEYS.cold}` })).status, 200)
})

t.test('a quota counts what exists and is unfinished, of one tenant', async (t) => {
  const { pool, log } = await withLog(t)
  const count = countUsage.bind(null, { pool, countsOf: usageCounts })
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
  for (const tenantId of ['acme', 'globex'])
    for (const n of [1, 2, 3]) {
      const opening = {
        type: 'RequestTransaction',
        opening: 'TransferRequested',
        intent: transferIntent({ tenantId }),
      } as const
      await log.execute(transactionAggregate, `tx_${tenantId}_${n}`, opening, { metadata: { tenantId, actor: 'test' } })
    }
  const fail = { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW } as const
  await log.execute(transactionAggregate, 'tx_acme_1', fail, { metadata: ACME })
  await pool.query(OPEN_CEREMONIES)
  const counted = Object.entries(CATALOGUE.quotas).flatMap(([quota, { kind }]) =>
    kind === 'counted' ? [quota as CountedQuota] : [],
  )
  const used = await Promise.all(counted.map(async (quota) => [quota, await count('acme', quota)]))
  t.strictSame(Object.fromEntries(used), {
    wallets: 1,
    watched_addresses: 0,
    assets: 0,
    webhooks: 0,
    api_keys: 0,
    transactions_waiting: 2,
    ceremonies: 4,
  })
})

t.test('the API does not start with a route that creates or spends without declaring its quota', async (t) => {
  const routes: Routes = (app) => {
    app.post('/v1/things', { schema: THING, config: { scope: 'wallets:write', idempotent: true } }, async () => 'x')
  }
  await t.rejects(startTestApp({ routes }), {
    message: 'POST /v1/things must state config.quotas: what it adds to, or []',
  })
})

t.test('a call with a kept Idempotency-Key is answered above the rate, and not counted', async (t) => {
  const config = { scope: 'wallets:write', idempotent: true, quotas: [], rate: 'calls_per_second' } as const
  const routes: Routes = (app) => {
    app.post('/v1/things', { schema: THING, config }, async (request, reply) => {
      if (request.idempotency?.key === 'kept') markReplayed(reply)
      return 'x'
    })
  }
  const quotas: TenantQuotas = {
    ...WITHOUT_QUOTAS,
    limitsOf: (tenantId) => ({ ...WITHOUT_QUOTAS.limitsOf(tenantId), calls_per_second: 1 }),
    findReplay: async ({ idempotency }) => (idempotency?.key === 'kept' ? 'thing' : null),
    clock: () => 0,
  }
  const { send } = await startTestApp({ routes, quotas })
  const statusOf = async (key?: string) => {
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    return (await send({ method: 'POST', url: '/v1/things', headers })).status
  }
  const statuses = async (keys: readonly (string | undefined)[]) => {
    const found: number[] = []
    for (const key of keys) found.push(await statusOf(key))
    return found
  }
  const BURST = 10
  t.strictSame(await statuses(Array(2 * BURST).fill('kept')), Array(2 * BURST).fill(200))
  t.strictSame(await statuses([...Array(BURST).keys()].map(String)), Array(BURST).fill(200), 'nothing was counted')
  t.strictSame(await statuses(['new', undefined, 'kept', 'kept', 'new']), [429, 429, 200, 200, 429])
})

t.test('a tenant reads its limits, its usage and what is left', async (t) => {
  const parts = await withParts(t)
  const api = await walletApi(t, parts, { QUOTA_WALLETS: '5', QUOTA_ASSETS: '0' })
  for (const key of ['one', 'two']) await create(api, key)
  const { quotas } = (await api.get('/v1/quotas')).body.data as { quotas: { quota: string }[] }
  const shown = (name: string) => quotas.find(({ quota }) => quota === name)
  t.strictSame(shown('wallets'), { quota: 'wallets', limit: 5, used: 2, remaining: 3 })
  t.strictSame(shown('assets'), { quota: 'assets', limit: null, used: 0, remaining: null })
  t.match(shown('ceremonies'), { limit: 1_000, used: 2 })
  t.match(shown('requests_in_flight'), { limit: 1_000, used: null, remaining: null })
})

/** Retries while the tenant has no room: counts are up to a tenth of a second old. */
async function until(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 429) return answer
  }
}

async function openedWallet({ pool }: WalletParts): Promise<string> {
  for (;;) {
    const { rows } = await pool.query<{ wallet_id: string }>('SELECT wallet_id FROM wallets')
    if (rows[0] !== undefined) return rows[0].wallet_id
  }
}
