/** Trials one after the other, each on a service that no earlier lie has harmed, and the table of what they did. */
import type { Test } from 'tap'
import type { Lie } from './lying-proxies.ts'
import { type LyingStage, liesAbout, type Outcome, type Trial, withLyingStage } from './lying-stage.ts'

export type Planned = Omit<Trial, 'lies'> & {
  readonly name: string
  /** Whether the lie is told in it. */
  readonly lies: (lie: Lie) => boolean
}

export type Nodes = { readonly nodes: number; readonly liars: number; readonly isFull?: boolean }

type Row = Outcome & { readonly name: string }

/** `LIE=eth_getBlockByNumber/head higher,eth_getBalance`: only what begins so. */
const CHOSEN = (process.env.LIE ?? '').split(',').filter((prefix) => prefix !== '')

const isChosen = CHOSEN.length > 0
/** Each method has four of every method, and some by the type of its result. */
const LEAST_LIES = 6

const NOBODY = liesAbout({ ours: [], token: '0x' }, 1)
const NAMES = NOBODY.map(({ name }) => name)

/** One trial for each of these lies, or for those that the environment chooses. */
export function oneByOne(names: readonly string[] = NAMES, how: Omit<Trial, 'lies'> = {}): Planned[] {
  const chosen = isChosen ? NAMES.filter((name) => CHOSEN.some((prefix) => name.startsWith(prefix))) : names
  return chosen.map((name) => ({ ...how, name, lies: (lie) => lie.name === name }))
}

/** After these a node is hardly asked. */
const ENDS_IT = /\/(null|nonsense|error|reverts|another chain|huge|silent about blocks)$/

/** One trial with every lie in turns, but those that would keep the others from being heard. */
export function together(how: Omit<Trial, 'lies'> = {}): Planned[] {
  const faults = [
    ...(how.forMs === undefined ? [] : [`for ${how.forMs / 1_000} s`]),
    ...(how.reorg === undefined ? [] : [`a reorg of ${how.reorg}`]),
    ...(how.kill === undefined ? [] : [`a kill of the ${how.kill}`]),
  ]
  const name = ['all together', ...faults].join(', ')
  return isChosen ? [] : [{ ...how, name, lies: (lie) => !ENDS_IT.test(lie.name) }]
}

/** Methods that came and that hardly anybody lies about. */
export function unaltered(asked: Iterable<string>): readonly string[] {
  const lies = (method: string) =>
    NOBODY.filter((lie) => lie.methods.includes(method) && !lie.name.startsWith('several/'))
  return [...asked].filter((method) => lies(method).length < LEAST_LIES)
}

/** Tells each lie, and fails the test for what did harm or never let the others settle. */
export async function tryLies(t: Test, { nodes, liars, isFull = false }: Nodes, planned: readonly Planned[]) {
  const waiting = [...planned]
  const rows: Row[] = []
  const asked = new Set<string>()
  const startedAt = Date.now()
  while (waiting.length > 0) {
    await t.test(`${liars} of ${nodes} nodes lie`, async (t) => {
      const stage = await withLyingStage(t, nodes, liars)
      const first = await stage.run({ lies: [], isFull })
      if (rows.length === 0) rows.push({ name: 'everybody is honest', ...first })
      t.strictSame(first.harms, [], 'without lies everything is right')
      await untilHarm(t, stage, waiting, rows, { nodes, liars, isFull })
      for (const method of stage.proxies.asked.keys()) asked.add(method)
    })
  }
  const isBad = ({ harms, settledMeanwhile }: Row) => harms.length > 0 || !settledMeanwhile
  for (const line of tableOf(rows)) t.comment(line)
  for (const row of rows.filter(isBad)) t.comment(`${row.name}\n${row.harms.slice(0, SHOWN).join('\n')}`)
  const slowest = Math.max(0, ...rows.map(({ settledMs }) => settledMs))
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(0)
  t.comment(`${rows.length} trials in ${seconds} s; everything settled after ${(slowest / 1_000).toFixed(1)} s at most`)
  return { asked, rows }
}

const SHOWN = 12

/** Each trial replays the whole log of its service: with many of them, that takes longer than the trial. */
const MOST_ON_A_STAGE = 25

/** Takes from what waits until one did harm: the service may remember it. */
async function untilHarm(t: Test, stage: LyingStage, waiting: Planned[], rows: Row[], { isFull = false }: Nodes) {
  for (let tried = 0; tried < MOST_ON_A_STAGE; tried += 1) {
    const next = waiting.shift()
    if (next === undefined) return
    const { name, lies, ...how } = next
    const outcome = await stage.run({ isFull, ...how, lies: stage.lies.filter(lies) })
    rows.push({ name, ...outcome })
    t.equal(outcome.harms.length, 0, `${name}: nothing wrong is done or told`)
    t.ok(outcome.settledMeanwhile, `${name}: everything settles, after ${Math.round(outcome.settledMs)} ms`)
    if (outcome.harms.length > 0 || !outcome.settledMeanwhile) return
  }
}

function tableOf(rows: readonly Row[]): string[] {
  return [
    '| lie | false answers | settled after | refused | paid | told | revoked | nonces | fees |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows.map(({ name, told, settledMs, settledMeanwhile, isDoubted, refused, harms }) => {
      const lies = [...told.values()].reduce((sum, times) => sum + times, 0)
      const of = (kind: string) => harms.filter((harm) => harm.startsWith(`${kind}:`)).length
      const delay = settledMeanwhile ? (isDoubted ? ' and 10 min of doubt' : '') : ', only after the lies'
      const after = `${(settledMs / 1_000).toFixed(1)} s${delay}`
      const kinds = ['paid', 'told', 'revoked', 'nonce', 'fees'].map(of)
      return `| ${[name, lies, after, refused, ...kinds].join(' | ')} |`
    }),
  ]
}
