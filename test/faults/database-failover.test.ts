/**
 * A PostgreSQL primary that is killed with all its processes during transfers, and its standby. With a synchronous
 * standby nothing is lost; with one that lagged, missing transfers are found on chain and paid once.
 *
 * `BURSAR_FAILOVERS=10 BURSAR_FAILOVER_TRANSFERS=1000` before `npm run test:long -- database-failover` runs more: each
 * round kills the primary once, and creates a new standby of its successor.
 */
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startAuditor } from '../../src/compose/auditor.ts'
import { composeKernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { subscribe } from '../../src/event-log/subscription.ts'
import { auditChain } from '../support/chain-audit.ts'
import { type Answered, type LoadWallet, planTransfers, replayTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { auditLog } from '../support/log-audit.ts'
import { operatorVerifies } from '../support/operator-verify.ts'
import { withServerPair } from '../support/postgres-pair.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { runWorker } from '../support/service-local.ts'
import { onChain, withStage } from '../support/service-stage.ts'

const FAILOVERS = Number(process.env.BURSAR_FAILOVERS ?? 1)
const TRANSFERS = Number(process.env.BURSAR_FAILOVER_TRANSFERS ?? 80)
const SPREAD_MS_EACH = 8
const WALLETS = 8
/** Responses per block, so that some transfers are mined and some are not when the server is lost. */
const ANSWERS_EACH_BLOCK = 20

const seed = Number(process.env.BURSAR_FAULT_SEED ?? Date.now() % 1_000_000)
t.comment(`BURSAR_FAULT_SEED=${seed}`)
const random = createRandom(seed)
const servers = await withServerPair(t)
const stage = await withStage(t, { databaseUrl: servers.url, env: { AUDIT_CHECKPOINT_INTERVAL_MS: '1000' } })
const { service } = stage
service.pool.on('error', () => undefined) // The test's own connections break too.
const wallets = await service.makeWallets(WALLETS)
const answers: Answered[] = []

/**
 * Signs the log as it grows. Signers hold all lanes of a log shorter than what was signed: nothing may lag while it
 * runs.
 */
function startAuditing() {
  const kernel = composeKernel(loadConfig({ ...service.env, DATABASE_URL: service.urlAs('auditor') }), 'auditor')
  return runWorker(kernel, startAuditor)
}

/** The streams seen by a subscription of the test, which restarts after errors, like the dispatcher's. */
function subscribeBeside(t: Test): ReadonlySet<string> {
  const heard = new Set<string>()
  const stop = new AbortController()
  const { pool, wakeUps } = service.kernel
  const read = async () => {
    for await (const batch of subscribe({ pool, wakeUps, name: 'beside', signal: stop.signal })) {
      for (const { streamId } of batch.events) heard.add(streamId)
      await batch.commit()
    }
  }
  const reading = (async () => {
    while (!stop.signal.aborted) await read().catch(() => setTimeout(100))
  })()
  t.after(async () => {
    stop.abort()
    await reading
  })
  return heard
}

/** Transfers from all wallets; the primary is lost after one of the responses. */
async function transferThroughLoss(round: number): Promise<void> {
  const plan = { wallets, count: TRANSFERS, firstNumber: answers.length, tokens: 0, impatient: 0 }
  const transfers = planTransfers(random, { ...plan, spreadMs: TRANSFERS * SPREAD_MS_EACH })
  const lostAfter = random.between(Math.floor(0.2 * TRANSFERS), Math.floor(0.8 * TRANSFERS))
  const early = round % 2 === 1
  let answered = 0
  let losing: Promise<void> | null = null
  const more = await sendTransfers(service.api, transfers, () => {
    answered += 1
    if (answered % ANSWERS_EACH_BLOCK === 0) void stage.mine()
    if (answered === lostAfter) losing = servers.failOver(early)
  })
  await losing
  answers.push(...more)
  t.comment(`the primary was lost after ${lostAfter} of ${TRANSFERS} answers`)
}

t.test('killing a primary with a synchronous standby during transfers loses nothing', async (t) => {
  t.after((await startAuditing()).stop)
  for (let round = 0; round < FAILOVERS; round += 1) {
    await servers.addStandby('synchronous')
    const before = answers.length
    await transferThroughLoss(round)
    await stage.settle()
    const audit = await auditChain({ places: service.places, wallets, answers })
    const { accepted, once, doubled, lost, problems } = audit
    t.strictSame(problems, [])
    t.strictSame(
      { accepted, once, doubled, lost },
      { accepted: answers.length, once: answers.length, doubled: 0, lost: 0 },
    )
    t.strictSame(await replayTransfers(service.api, answers.slice(before)), [], 'a replay returns the same transfer')
    t.comment(`round ${round + 1}: ${once} of ${accepted} transfers once on chain`)
  }
  t.strictSame((await auditLog(servers.url)).problems, [], 'the log is valid, and the live tables equal its fold')
  const signed = await eventually(async () => {
    const { rows } = await service.pool.query<{ size: string }>('SELECT max(size) AS size FROM audit_checkpoints')
    return Number(rows[0]?.size ?? 0) >= answers.length
  })
  t.ok(signed)
  t.strictSame(await operatorVerifies(servers.url, service.env.DATA_DIR ?? ''), [])
})

t.test('after the promotion of a lagging standby, missing transfers are found on chain, and paid once', async (t) => {
  const [payer, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  await servers.addStandby('asynchronous')
  const heard = subscribeBeside(t)
  await service.stopWorker('signer')
  const sent: { wallet: LoadWallet; id: string; wei: bigint }[] = []
  for (const [index, wallet] of [payer, payer, other].entries())
    sent.push({ wallet, id: await stage.send(wallet, `0.0000${index + 1}`), wei: BigInt(index + 1) * 10n ** 13n })
  await servers.caughtUp()
  await servers.cutReplication()
  await service.startWorker('signer')
  for (const { wallet, id } of sent) await stage.until(wallet, id, 'submitted')
  await stage.mine()
  for (const { wallet, id } of sent) await stage.until(wallet, id, 'mined')
  await servers.failOver(true)
  const later = await stage.send(other, '0.00007')
  await eventually(() => heard.has(`transaction-${later}`))
  await stage.settle()
  for (const { wallet, id, wei } of sent) {
    const payments = (await onChain(stage, wallet)).filter(({ amount }) => amount === wei)
    t.equal(payments.length, 1, `${id} is paid once`)
    t.match(await stage.read(wallet, id), { state: 'confirmed', hash: payments[0]?.hash })
  }
  t.strictSame((await auditLog(servers.url)).problems, [])
})

t.end()
