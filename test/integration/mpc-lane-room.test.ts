/**
 * Lanes of joint keys have room of their own: however long their parties take, no other lane waits, and a tenant has at most
 * eight signings at once, in all signers together. On a real PostgreSQL, with passes that sign nothing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { startHeartbeat } from '../../src/compose/heartbeat.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { type LaneWork, workOnLanes } from '../../src/compose/lanes.ts'
import { laneName } from '../../src/transactions/lanes.ts'
import { LANE_QUEUES, PARTITIONS, workName } from '../../src/transactions/partitions.ts'
import { signerConfig } from '../support/config.ts'
import { insertTransactions, insertWallets } from '../support/many-rows.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** Of one tenant. */
const MPC = 48
const HD = 16
/** Of a tenant. */
const MOST = 8
/** As of `src/compose/signer.ts`. */
const MPC_LANES = { queue: 'mpc-lane', atOnce: 12, ofTenant: MOST } as const
const PASS_MS = 40
/** Longer than a process takes to count the others. */
const SHARE_MS = 6_000

/** Wallets of acme in all partitions, each with something to sign: first those with joint keys. */
async function seed(pool: Pool): Promise<{ readonly mpc: readonly string[]; readonly hd: readonly string[] }> {
  await insertWallets(pool, { count: MPC + HD })
  await insertTransactions(pool, { wallet: 'n', count: MPC + HD, state: 'requested', tenant: 'acme' })
  const { rows } = await pool.query<{ address: string; chain_id: number; type: string }>(
    `UPDATE wallets SET tenant_id = 'acme', type = CASE WHEN n <= $1 THEN 'mpc' ELSE 'hd' END,
            address = '0x' || substr('0123456789abcdef', 1 + n % 16, 1) || substr(address, 4)
       FROM (SELECT wallet_id AS id, right(wallet_id, 7)::integer AS n FROM wallets) AS numbered WHERE wallet_id = id
     RETURNING address, chain_id, type`,
    [MPC],
  )
  await pool.query('UPDATE transactions t SET from_address = w.address FROM wallets w WHERE w.wallet_id = t.wallet_id')
  const namesOf = (kind: string) =>
    rows.filter(({ type }) => type === kind).map(({ address, chain_id: chainId }) => laneName({ chainId, address }))
  return { mpc: namesOf('mpc'), hd: namesOf('hd') }
}

function openSigner(t: Test, url: string, number: number): Kernel {
  const kernel = composeKernel(signerConfig(t, url), 'signer', `test:${number}`)
  t.after(() => kernel.close())
  const { stop } = startHeartbeat(kernel)
  t.after(stop)
  return kernel
}

function work(t: Test, kernel: Kernel, lanes: LaneWork): void {
  const worker = workOnLanes(kernel, lanes)
  t.after(() => worker.close())
}

const jobs = ({ jobs }: Kernel) =>
  jobs.add(
    LANE_QUEUES.flatMap((queue) => PARTITIONS.map((partition) => ({ queue, id: partition, data: { partition } }))),
  )

t.test('while parties answer nothing, each other lane of the same tenant and partition has its passes', async (t) => {
  const { url, pool } = await withDatabase(t)
  const { mpc, hd } = await seed(pool)
  const kernel = openSigner(t, url, 0)
  const asked: string[] = []
  const signed: string[] = []
  let answer: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  work(t, kernel, {
    ...MPC_LANES,
    async pass(lane) {
      asked.push(laneName(lane))
      await answered
      return 'done'
    },
  })
  work(t, kernel, {
    queue: 'lane',
    async pass(lane) {
      signed.push(laneName(lane))
      return 'done'
    },
  })
  await jobs(kernel)
  await eventually(() => asked.length > 0)
  await eventually(() => new Set(signed).size === HD)
  for (let round = 0; round < 5; round += 1) {
    const before = signed.length
    kernel.wakeUps.announce(
      [],
      hd.map((lane) => workName('sign', lane)),
    )
    await eventually(() => new Set(signed.slice(before)).size === HD)
  }
  t.ok(asked.length <= MOST, `${asked.length} signings wait for parties`)
  t.strictSame(new Set(signed), new Set(hd), 'and no lane of a joint key is among the others')
  answer()
  await eventually(() => new Set(asked).size === MPC)
  t.strictSame(new Set(asked), new Set(mpc))
})

for (const signers of [1, 3, 5])
  t.test(`${signers} signers have at most eight signings of one tenant at once`, async (t) => {
    const { url, pool } = await withDatabase(t)
    const { mpc } = await seed(pool)
    const running = new Set<symbol>()
    const passes = Array.from({ length: signers }, () => 0)
    let most = 0
    const kernels = passes.map((_, number) => openSigner(t, url, number))
    for (const [number, kernel] of kernels.entries())
      work(t, kernel, {
        ...MPC_LANES,
        async pass() {
          const own = Symbol(number)
          running.add(own)
          passes[number] = (passes[number] ?? 0) + 1
          most = Math.max(most, running.size)
          await delay(PASS_MS)
          running.delete(own)
          return 'again'
        },
      })
    const [first] = kernels as [Kernel]
    /** Each signer knows the others, and has a share of the partitions. */
    const untilShared = () =>
      eventually(async () => {
        await jobs(first)
        const before = [...passes]
        await delay(500)
        return passes.every((count, number) => count > (before[number] ?? 0))
      })
    await untilShared()
    await delay(SHARE_MS)
    await untilShared()
    most = 0
    passes.fill(0)
    await eventually(() => passes.every((count) => count >= MPC))
    t.ok(most <= MOST, `at most ${most} at once`)
    t.ok(most > MOST / 2, 'the room is used')
    t.equal(mpc.length, MPC)
  })

t.end()
