/**
 * `npm run faults:points`: kills a process at every step boundary of the scenario, and between every two consecutive
 * effects; prints the table of points and kills. Exit code 1 when anything is lost, duplicated, or never reached.
 */
import { parseArgs } from 'node:util'
import t from 'tap'
import { createRandom } from '../support/load-random.ts'
import { ACTS, actNamed } from '../support/points-acts.ts'
import { createRecorder, firstOfEach, nameOf } from '../support/points-discovery.ts'
import { type PointsStage, withPointsStage } from '../support/points-stage.ts'
import { killAtEach } from './kill-points.ts'
import { summaryOf, tableOf } from './points-table.ts'

const USAGE = `usage: npm run faults:points -- [--every-act] [--only TEXT] [--act NAME] [--stages N] [--seed N]

  --every-act  kills at a step in each act that passes it, not only in the first one
  --only       only at points whose name holds this text, such as "signer: before"
  --act        plays only this act, such as "a swap"; may be repeated
  --stages     how many services run side by side, each with a database and a node of its own (default 2)
  --seed       the order of the kills (default: by the clock)
`
const { values } = parseArgs({
  options: {
    'every-act': { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    act: { type: 'string', multiple: true, default: [] },
    stages: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stderr.write(USAGE)
  process.exit(2)
}
t.setTimeout(0)
const say = (line: string) => void process.stderr.write(`${line}\n`)
const recorder = createRecorder()
const others: PointsStage[] = []
while (others.length < Number(values.stages) - 1) others.push(await withPointsStage(t, { hasWebhook: true }))
const first = await withPointsStage(t, { onKernel: recorder.onKernel, hasWebhook: true })
const { steps, pairs } = await recorder.discover(first, values.act.length > 0 ? values.act.map(actNamed) : ACTS)
const random = createRandom(Number(values.seed))
const points = [...(values['every-act'] ? steps : firstOfEach(steps)), ...pairs]
  .filter((point) => nameOf(point).includes(values.only))
  .map((point) => ({ point, place: random.next() }))
  .sort((a, b) => a.place - b.place)
  .map(({ point }) => point)
say(`seed ${values.seed}: ${points.length} points, ${pairs.length} of them pairs`)
let done = 0
const kills = await killAtEach([first, ...others], points, (kill) => {
  done += 1
  const told = kill.hit ? `${(kill.recoveredMs / 1_000).toFixed(1)} s` : 'never passed there'
  say(`${done}/${points.length} ${nameOf(kill.point)} (${kill.point.act.name}): ${[told, ...kill.problems].join('; ')}`)
})
t.strictSame(
  kills.flatMap(({ problems }) => problems),
  [],
  'the audit finds no problem after any kill',
)
t.strictSame(
  kills.filter(({ hit }) => !hit).map(({ point }) => nameOf(point)),
  [],
  'every point is reached',
)
process.stdout.write(`${[...tableOf(kills), '', summaryOf(kills)].join('\n')}\n`)
t.end()
