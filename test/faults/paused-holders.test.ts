/**
 * Two processes that both believe they hold a lease: one is stopped just before an append for longer than its lease
 * lasts, another takes over, and the first resumes. The database refuses its append because its fence is outdated.
 */
import t from 'tap'
import type { Step } from '../support/fault-points.ts'
import { type Act, actNamed } from '../support/points-acts.ts'
import { auditStage } from '../support/points-audit.ts'
import { type PointsStage, withPointsStage } from '../support/points-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import type { Place, ProcessKind, Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

const stage = await withPointsStage(t)

/**
 * Runs an act whose process is stopped at a point until another process of its kind has finished the act. Returns the
 * stopped one.
 */
async function overtake(stage: PointsStage, kind: ProcessKind, place: Place, act: Act): Promise<Victim> {
  const victim = stage.prepare(kind)
  await stage.stop(kind)
  await victim.start()
  const { armed, reached } = victim.arm(place, 'SIGSTOP')
  await armed
  const played = act.play(stage)
  await within(`${kind} stands at ${place.step}`, reached)
  await stage.start(kind)
  await within(act.name, played)
  return victim
}

const refusalsOf = ({ failures }: Victim, step: Step) => failures.filter((failure) => failure.step === step)

/** The database's outcomes for a refused commit. */
function outcomesOf(error: string): string[] {
  return (JSON.parse(error) as readonly { readonly outcome: string }[]).map(({ outcome }) => outcome)
}

const CASES: readonly (readonly [ProcessKind, Step, string])[] = [
  ['signer', 'append TransactionSigned', 'a transfer'],
  ['signer', 'append TransactionReplaced', 'a cancellation'],
  // An act that waits for the other submitter before it has a block mined.
  ['submitter', 'append TransactionSubmitted', 'a speed-up'],
  ['chain-follower', 'append BalanceChanged+TransactionMined', 'a transfer'],
  ['chain-follower', 'append BalanceReorged+ReorgDetected+TransactionReorged', 'a reorg'],
  ['chain-follower', 'append TransactionConfirmed', 'a transfer'],
]

for (const [kind, step, act] of CASES) {
  t.test(`a ${kind} that was overtaken in the middle of ${act} may not ${step}: its fence is refused`, async (t) => {
    const victim = await overtake(stage, kind, { moment: 'before', step }, actNamed(act))
    victim.resume()
    // A connection that broke while it was stopped is no refusal: the append is then tried again.
    const { error } = await within(
      'its append is refused',
      eventually(() => refusalsOf(victim, step).find((refusal) => refusal.error.startsWith('['))),
    )
    t.ok(outcomesOf(error).includes('fence_lost'), `the database returned ${error}`)
    t.strictSame(await auditStage(stage), [], 'the audit finds nothing')
    await actNamed('a transfer').play(stage)
    victim.kill()
    await victim.ended
  })
}

t.test('a paused submitter that sends old bytes causes no second payment', async (t) => {
  const place = { moment: 'before', step: 'rpc eth_sendRawTransaction' } as const
  const victim = await overtake(stage, 'submitter', place, actNamed('a speed-up'))
  const { reached } = victim.arm({ ...place, moment: 'after' }, 'SIGSTOP')
  victim.resume()
  await within('the node has heard it', reached)
  victim.resume()
  await actNamed('a transfer').play(stage)
  t.strictSame(await auditStage(stage), [], 'the audit finds nothing')
  victim.kill()
  await victim.ended
})

t.test('a paused dispatcher does not set the checkpoint back', async (t) => {
  const { pool } = stage.service
  const checkpoint = async () =>
    (await pool.query<{ at: string }>("SELECT position AS at FROM checkpoints WHERE name = 'dispatcher'")).rows[0]?.at
  const victim = await savesLate(async () => BigInt((await checkpoint()) ?? 0))
  t.ok(BigInt((await checkpoint()) ?? 0) >= victim.before, 'the newer checkpoint is kept')
  victim.resume()
  await actNamed('a transfer').play(stage)
  t.strictSame(await auditStage(stage), [], 'the audit finds nothing')
  victim.kill()
  await victim.ended
})

/**
 * A dispatcher that is stopped after it saved a checkpoint older than the saved one, which was `before`. The statement
 * of a connection that broke while the process was stopped fails, and the other dispatcher continues: then it is
 * stopped once more.
 */
async function savesLate(checkpoint: () => Promise<bigint>): Promise<Victim & { readonly before: bigint }> {
  const place = { moment: 'before', step: 'checkpoint' } as const
  const failures: string[] = []
  while (failures.length < 5) {
    const victim = await overtake(stage, 'dispatcher', place, actNamed('a transfer'))
    const before = await checkpoint()
    let saved = false
    void victim.arm({ ...place, moment: 'after' }, 'SIGSTOP').reached.then(() => {
      saved = true
    })
    victim.resume()
    const failed = () => refusalsOf(victim, 'checkpoint').map(({ error }) => error)
    await within(
      'it saves the old one, or fails to',
      eventually(() => saved || failed().length > 0),
    )
    if (saved) return { ...victim, before }
    failures.push(...failed())
    victim.kill()
    await victim.ended
  }
  throw new Error(`the old checkpoint was never saved: ${failures.join('; ')}`)
}

t.end()
