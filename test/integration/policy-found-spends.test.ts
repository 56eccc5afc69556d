/** What wallets sent and the log does not have counts towards limits: on a real chain, with the follower that finds it. */
import t, { type Test } from 'tap'
import { findOutside } from '../../src/activity/find-outside.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { LimitReached } from '../../src/event-log/append.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { compilePolicy } from '../../src/policies/compile.ts'
import { createCountFound } from '../../src/policies/count-found.ts'
import { runBacktest } from '../../src/policies/run-backtest.ts'
import { seedCounters } from '../../src/policies/seed-counters.ts'
import type { SentRule } from '../../src/policies/sent-policy.ts'
import { addWallet, fresh } from '../support/balances.ts'
import { type FollowedChain, RICH, withFollowedChain } from '../support/followed-chain.ts'
import { NATIVE } from '../support/log.ts'
import { OWNER, pastOf, policyOf } from '../support/policy-past.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const DAY = 86_400
const RUN = new AbortController().signal
const TABLES = ['spend_buckets', 'policies', 'policy_versions'] as const
type Limit = NonNullable<SentRule['limit']>

const limitOf = (id: string, more: Partial<Limit> = {}, match: SentRule['match'] = {}): SentRule => {
  const of = 'count' in more ? {} : { asset_id: NATIVE.assetId, amount: '0.000000000001' }
  return { id, effect: 'limit', match, limit: { ...of, window_seconds: DAY, ...more } as Limit }
}

/** A wallet with the key of which another program sends. */
async function withOutside(t: Test) {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_1', { address: RICH, type: 'hd' })
  chain.follow()
  const past = pastOf(chain)
  const ports = { ...past.ports, log: chain.log, findOutside: findOutside.bind(null, chain) }
  return { chain, past, count: createCountFound(ports), countAnew: () => createCountFound(ports)(RUN) }
}

function untilConfirmed({ pool }: FollowedChain, transfers: number): Promise<true> {
  return eventually(async () => {
    const { rows } = await pool.query(`SELECT FROM observed_transfers WHERE direction = 'out' AND status = 'confirmed'`)
    return rows.length === transfers
  })
}

async function inForce(past: ReturnType<typeof pastOf>, rules: readonly SentRule[]) {
  const policy = policyOf(rules)
  const version = await past.shadow(policy)
  await past.seed(RUN)
  await past.publish(version, policy)
}

async function sameAsReplayed(t: Test, { pool, spent }: ReturnType<typeof pastOf>) {
  const counted = await spent()
  t.strictSame((await compareLive(pool, LOG_CONTENTS, { tables: TABLES })).differences, [])
  await rebuild(pool, LOG_CONTENTS, { tables: ['spend_buckets'] })
  t.strictSame(await spent(), counted)
}

t.test('what was found counts once, when its block is confirmed, and leaves less for requests', async (t) => {
  const { chain, past, count, countAnew } = await withOutside(t)
  await inForce(past, [limitOf('cap'), limitOf('number', { count: 5 }, { actions: ['transfer'] })])
  await chain.transfer(fresh(1), 700_000n)
  await eventually(async () => (await chain.pool.query('SELECT FROM observed_transfers')).rows.length === 1)
  t.equal(await count(RUN), 0, 'its block is not confirmed')
  t.strictSame(await past.spent(), {})
  await chain.rpc('anvil_mine', ['0x1'])
  await untilConfirmed(chain, 1)
  await Promise.all([count(RUN), countAnew()])
  t.equal(await count(RUN), 0)
  t.equal(await countAnew(), 0, 'a dispatcher that starts looks at all again')
  t.strictSame(Object.values(await past.spent()).sort(), ['1', '700000'])
  await t.rejects(
    past.transfer({ amount: 300_001n, reserved: { gasLimit: 0n, maxFeePerGas: 0n } }, await past.inForce()),
    LimitReached,
  )
  await sameAsReplayed(t, past)
})

t.test('it counts above a limit, and a block that leaves the chain and comes back counts once', async (t) => {
  const { chain, past, count } = await withOutside(t)
  await inForce(past, [limitOf('cap')])
  // The same bytes, in both blocks.
  const fees = { gas: '0x5208', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' }
  const send = () => chain.send({ to: fresh(1), value: toQuantity(2_000_000n), ...fees })
  const snapshot = await chain.rpc('evm_snapshot')
  await send()
  await chain.rpc('anvil_mine', ['0x1'])
  await untilConfirmed(chain, 1)
  t.equal(await count(RUN), 1)
  await chain.rpc('evm_revert', [snapshot])
  await chain.rpc('anvil_mine', [toQuantity(3n), '0x1'])
  await eventually(
    async () => (await chain.pool.query(`SELECT FROM observed_transfers WHERE status = 'orphaned'`)).rows.length === 1,
  )
  await send()
  await chain.rpc('anvil_mine', ['0x1'])
  await untilConfirmed(chain, 1)
  await count(RUN)
  t.strictSame(Object.values(await past.spent()), ['2000000'])
  await sameAsReplayed(t, past)
})

t.test('what is a transaction of the log by then is not found', async (t) => {
  const { chain, past, count } = await withOutside(t)
  await inForce(past, [limitOf('cap')])
  await chain.transfer(fresh(1), 5n)
  await chain.rpc('anvil_mine', ['0x1'])
  await untilConfirmed(chain, 1)
  const { rows } = await chain.pool.query<{ hash: string; nonce: string }>(
    'SELECT hash, nonce FROM outside_transactions',
  )
  const [{ hash, nonce } = { hash: '', nonce: '' }] = rows
  const id = await past.transfer({ from: RICH, walletId: 'wal_1', to: fresh(1), amount: 5n }, await past.inForce())
  const counted = await past.spent()
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const signed = { nonce: Number(nonce), hash, rawTransaction: '0x02', fees, signedAt: new Date().toISOString() }
  await past.change(id, { type: 'RecordSignature', signed, recovered: true })
  t.equal(await count(RUN), 0)
  t.strictSame(await past.spent(), counted)
})

t.test(
  'nothing says who requested it and how: limits about any of it count it, but of no single API key',
  async (t) => {
    const { chain, past, count } = await withOutside(t)
    await inForce(past, [
      limitOf('of key', { count: 1 }, { api_keys: { in: ['key_1'] } }),
      limitOf('of contract', { count: 2 }, { contracts: { in: [fresh(9)] } }),
      limitOf('swaps', { count: 3 }, { actions: ['swap'] }),
      limitOf('of recipient', { count: 4 }, { recipients: { in: [fresh(1)] } }),
      limitOf('each', { count: 5, per: 'wallet' }),
      limitOf('other recipient', { count: 6 }, { recipients: { in: [fresh(2)] } }),
      limitOf('exports', { count: 7 }, { actions: ['export'] }),
      limitOf('each key', { count: 8, per: 'api_key' }),
    ])
    await chain.transfer(fresh(1), 5n)
    await chain.rpc('anvil_mine', ['0x1'])
    await untilConfirmed(chain, 1)
    t.equal(await count(RUN), 1)
    const { rows } = await chain.pool.query<{ data: { reservations: { rule: string; mustFit: boolean }[] } }>(
      `SELECT data FROM events WHERE type = 'SpendFound'`,
    )
    t.strictSame(
      rows[0]?.data.reservations.map(({ rule, mustFit }) => [rule, mustFit]).sort(),
      ['each', 'of contract', 'of key', 'of recipient', 'swaps'].map((rule) => [rule, false]),
    )
  },
)

t.test('a limit that is new learns what was found before, once, and a test of the past counts it', async (t) => {
  const { chain, past, count } = await withOutside(t)
  await chain.transfer(fresh(1), 700_000n)
  await chain.rpc('anvil_mine', ['0x1'])
  await untilConfirmed(chain, 1)
  t.equal(await count(RUN), 1, 'recorded without a policy, too')
  t.strictSame(await past.spent(), {})
  const policy = policyOf([limitOf('cap')])
  await past.shadow(policy)
  await past.seed(RUN)
  t.strictSame(Object.values(await past.spent()), ['700000'])
  await chain.transfer(fresh(1), 100_000n)
  await chain.rpc('anvil_mine', ['0x1'])
  await untilConfirmed(chain, 2)
  t.equal(await count(RUN), 1)
  t.strictSame(Object.values(await past.spent()), ['800000'])
  t.equal(await seedCounters({ ...past.ports, log: chain.log }, RUN), 0)
  await past.transfer({ amount: 200_001n, reserved: { gasLimit: 0n, maxFeePerGas: 0n } }, await past.inForce())
  const { result } = await runBacktest(
    past.ports,
    OWNER,
    compilePolicy(policy, 1),
    { fromMs: null, toMs: null },
    () => true,
  )
  t.equal(result.totals.limited.requests, 1)
  t.equal(result.totals.allowed.requests, 0, 'what was found is no request')
  await sameAsReplayed(t, past)
})
