/**
 * kill -9 of every process in the middle of swaps: between the steps of one, and at each state of its approval and of
 * itself while others run and the price moves. No swap is executed twice or below its minimum, whatever dies and when.
 */
import t from 'tap'
import { isEffect } from '../support/fault-points.ts'
import { createRandom } from '../support/load-random.ts'
import { overtake } from '../support/overtake.ts'
import { actNamed } from '../support/points-acts.ts'
import { auditStage } from '../support/points-audit.ts'
import { createRecorder, type FaultPoint, firstOfEach, nameOf } from '../support/points-discovery.ts'
import { withPointsStage } from '../support/points-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import type { TradeKind } from '../support/trader.ts'
import { PROCESS_KINDS, type ProcessKind } from '../support/victims.ts'
import { killAtEach } from './kill-points.ts'
import { summaryOf } from './points-table.ts'

const seed = Number(process.env.SWAP_KILL_SEED ?? Date.now() % 1_000_000)
const random = createRandom(seed)
t.comment(`seed ${seed}`)

/** A state of the approval or of the swap that an owner can observe. */
type Moment = { readonly of: 'approval' | 'swap'; readonly state: string }
const MOMENTS: readonly Moment[] = [
  { of: 'approval', state: 'signed' },
  { of: 'approval', state: 'mined' },
  { of: 'swap', state: 'signed' },
  { of: 'swap', state: 'submitted' },
  { of: 'swap', state: 'mined' },
]
/** In the order in which a transaction reaches them. */
const STATES = ['requested', 'signed', 'submitted', 'mined', 'confirmed']
const EVERY_KILL = PROCESS_KINDS.flatMap((kind) => MOMENTS.map((moment) => ({ kind, moment })))
const STEPS_BY_SEED = 1
const OTHERS: readonly TradeKind[] = ['buy', 'buy exactly', 'call']
const LEAST_SLIPPAGE = 1
const SLIPPAGES = [LEAST_SLIPPAGE, 20, 500]
/** Moves the price by more than the least slippage, and by less than the largest. */
const LARGE = 400n

const recorder = createRecorder()
const stage = await withPointsStage(t, { onKernel: recorder.onKernel })
const { service, rpc, url, trader } = stage
const { pool } = service

function chosen<T>(all: readonly T[], count: number): T[] {
  const rest = [...all]
  return Array.from({ length: Math.min(count, rest.length) }, () =>
    rest.splice(random.between(0, rest.length - 1), 1),
  ).flat()
}

/** Each process once and each moment once; with SWAP_KILLS=all every pair of them. */
function plannedKills(): typeof EVERY_KILL {
  if (process.env.SWAP_KILLS === 'all') return chosen(EVERY_KILL, EVERY_KILL.length)
  const kinds = chosen(PROCESS_KINDS, PROCESS_KINDS.length)
  return MOMENTS.flatMap((moment, index) => kinds.slice(index, index + 1).map((kind) => ({ kind, moment })))
}

/** Between what the signer does for the approval and then for the swap. The steps alone are struck by `step-boundaries`. */
function isAlwaysTaken({ kind, place: { afterEffect } }: FaultPoint): boolean {
  return kind === 'signer' && afterEffect !== undefined
}

/**
 * The follower appends as often as blocks happen to arrive, and the dispatcher saves a checkpoint for as many jobs as it
 * found at once, so two of their effects may not follow each other again.
 */
function dependsOnTiming({ kind, place: { afterEffect } }: FaultPoint): boolean {
  return (kind === 'chain-follower' || kind === 'dispatcher') && afterEffect !== undefined
}

t.test('a process that is killed between the steps of a swap makes it neither fail nor happen twice', async (t) => {
  const { steps, pairs } = await recorder.discover(stage, [actNamed('a swap')])
  const points = firstOfEach([...steps, ...pairs]).filter(({ place }) => isEffect(place.step))
  const always = points.filter(isAlwaysTaken)
  const rest = points.filter((point) => !isAlwaysTaken(point) && !dependsOnTiming(point))
  const kills = await killAtEach([stage], [...always, ...chosen(rest, STEPS_BY_SEED)])
  for (const { point, hit, problems } of kills) {
    t.ok(hit, `${nameOf(point)} is reached`)
    t.strictSame(problems, [], `the audit finds no problem after ${nameOf(point)}`)
  }
  t.comment(`${points.length} points; ${summaryOf(kills)}`)
})

async function statesOf(swapId: string) {
  const { rows } = await pool.query<{ approval: string; swap: string }>(
    `SELECT a.state AS approval, s.state AS swap FROM transactions s
       JOIN transactions a ON a.transaction_id = s.depends_on WHERE s.transaction_id = $1`,
    [swapId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`${swapId} has no approval`)
  return row
}

/** Waits for the moment, or for the end of the swap; a block is mined only where the moment is not reached without. */
function untilReached(swapId: string, { of, state }: Moment) {
  return eventually(async () => {
    const states = await statesOf(swapId)
    if (STATES.indexOf(states[of]) >= STATES.indexOf(state) || !STATES.includes(states.swap)) return true
    const needsBlock = of === 'swap' ? states.approval === 'submitted' || state === 'mined' : state === 'mined'
    if (needsBlock) await rpc('evm_mine')
    return false
  })
}

async function moveThePrice() {
  const { rows } = await pool.query<{ quote_id: string }>(
    'SELECT quote_id FROM swap_quotes ORDER BY expires_at DESC LIMIT 1',
  )
  await overtake({ pool, url }, rows[0]?.quote_id ?? '', LARGE)
}

/** While no signer runs, the price moves between the request of a swap and its signature by more than the swap allows. */
async function killDuringSwaps(kind: ProcessKind, moment: Moment): Promise<void> {
  const victim = stage.prepare(kind)
  const isOvertaken = kind === 'signer'
  await stage.stop(kind)
  if (!isOvertaken) await victim.start()
  const slippageBps = isOvertaken ? LEAST_SLIPPAGE : random.pick(SLIPPAGES)
  const id = await trader.trade('sell', { quoted: true, slippageBps })
  if (isOvertaken) {
    await moveThePrice()
    await victim.start()
  }
  await untilReached(id, moment)
  const others = OTHERS.map((other) => trader.request(other, { slippageBps: random.pick(SLIPPAGES) }))
  const again = trader.request('sell', { slippageBps: random.pick(SLIPPAGES) })
  if (random.chance(0.5)) await moveThePrice()
  victim.kill()
  await victim.ended
  await stage.start(kind)
  await Promise.all([...others, again])
  await stage.settle()
}

t.test(
  'swaps that run while processes are killed are executed once or not at all, never below their minimum',
  async (t) => {
    const kills = plannedKills()
    for (const { kind, moment } of kills) {
      await killDuringSwaps(kind, moment)
      const name = `${kind} killed when the ${moment.of} is ${moment.state}`
      t.strictSame(await auditStage(stage), [], `the audit finds no problem: ${name}`)
    }
    const { executed, ended } = await trader.audit()
    t.ok(executed > kills.length)
    t.comment(`${executed} executed, ${ended} ended without an effect`)
  },
)

t.end()
