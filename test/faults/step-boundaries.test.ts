/**
 * kill -9 at step boundaries: a process is killed just before or after each of its observed effects. Always at every
 * append of the API, the signer and the submitter and around submissions, and around what the webhook sender saves;
 * elsewhere at some points chosen by seed. `npm
 * run faults:points` covers all of them.
 */
import t from 'tap'
import { createRandom } from '../support/load-random.ts'
import { createRecorder, type FaultPoint, firstOfEach, nameOf } from '../support/points-discovery.ts'
import { withPointsStage } from '../support/points-stage.ts'
import { POINT_KINDS } from '../support/victims.ts'
import { killAtEach } from './kill-points.ts'
import { summaryOf } from './points-table.ts'

/** What the scenario must include; otherwise the test proves less than it claims. */
const MUST_HAPPEN = [
  'WalletRequested',
  'WalletCreated',
  'TransferRequested',
  'MintRequested',
  'TokenApprovalRequested',
  'SwapRequested',
  'SwapRecorded',
  'ContractCallRequested',
  'CancellationRequested',
  'SpeedUpRequested',
  'TransactionSigned',
  'TransactionReplaced',
  'TransactionSubmitted',
  'TransactionMined',
  'TransactionReorged',
  'TransactionConfirmed',
]
const CHOSEN_BY_SEED = 6

const seed = Date.now() % 1_000_000
const random = createRandom(seed)
t.comment(`seed ${seed}`)

/** Points at which funds could be duplicated or lost, or a delivery left out. */
function isAlwaysTaken({ kind, place: { step } }: FaultPoint): boolean {
  if (kind === 'dispatcher' || kind === 'chain-follower') return false
  if (kind === 'webhook-sender') return step === 'add deliveries' || step === 'record attempts'
  return step.startsWith('append') || step === 'rpc eth_sendRawTransaction'
}

function choose(points: FaultPoint[], count: number): FaultPoint[] {
  return Array.from({ length: Math.min(count, points.length) }, () =>
    points.splice(random.between(0, points.length - 1), 1),
  ).flat()
}

const recorder = createRecorder()
const other = await withPointsStage(t, { hasWebhook: true })
const stage = await withPointsStage(t, { onKernel: recorder.onKernel, hasWebhook: true })
const { steps } = await recorder.discover(stage)
const points = firstOfEach(steps)

t.test('the scenario passes through every process and every event of a transaction', async (t) => {
  t.strictSame(new Set(points.map(({ kind }) => kind)), new Set(POINT_KINDS))
  const appended = new Set(points.flatMap(({ place }) => place.step.replace(/^append /, '').split('+')))
  t.strictSame(
    MUST_HAPPEN.filter((type) => !appended.has(type)),
    [],
  )
})

t.test('a process that is killed at a step boundary loses nothing and doubles nothing', async (t) => {
  const rest = points.filter((point) => !isAlwaysTaken(point))
  const kills = await killAtEach([stage, other], points.filter(isAlwaysTaken))
  for (const { point, hit } of kills) t.ok(hit, `${nameOf(point)} is reached`)
  let reached = 0
  // What the others do by then may take a point away: another one takes its place.
  while (reached < CHOSEN_BY_SEED && rest.length > 0) {
    const chosen = await killAtEach([stage, other], choose(rest, CHOSEN_BY_SEED - reached))
    reached += chosen.filter(({ hit }) => hit).length
    kills.push(...chosen)
  }
  t.equal(reached, CHOSEN_BY_SEED, 'as many of the others are reached')
  for (const { point, problems } of kills)
    t.strictSame(problems, [], `the audit finds no problem after ${nameOf(point)}`)
  t.comment(summaryOf(kills))
})

t.end()
