/**
 * Tests a policy on what the log has of a tenant. Requests before the tested time count towards limits, as far as windows reach back, and
 * are in no total.
 */
import { performance } from 'node:perf_hooks'
import type { LogOwner } from '../event-log/read-logged.ts'
import { type BacktestResult, createBacktest } from './backtest.ts'
import type { CompiledPolicy } from './compile.ts'
import type { PastStep } from './past.ts'
import { type PastContext, readPast } from './read-past.ts'

export type BacktestRange = {
  /** ms; `null` for all that the log has. */
  readonly fromMs: number | null
  readonly toMs: number | null
}

export type BacktestRun = {
  readonly result: BacktestResult
  /** Events of the log that were looked at. */
  readonly read: number
  /** ISO 8601 UTC; the newest request that is in the totals; `null` for none. */
  readonly readTo: string | null
  /** Whether the caller ended it before all of the range was read. */
  readonly isCut: boolean
  readonly ms: number
}

/**
 * @param onRead called after each part of a page with the events of it, and how often something counted towards a limit until then;
 *   ends the test by returning false
 */
export async function runBacktest(
  ports: PastContext,
  owner: LogOwner,
  policy: CompiledPolicy,
  { fromMs, toMs }: BacktestRange,
  onRead: (events: number, counted: number) => boolean,
): Promise<BacktestRun> {
  const startedAt = performance.now()
  const backtest = createBacktest(policy)
  const from = fromMs === null ? null : new Date(fromMs).toISOString()
  const to = toMs === null ? null : new Date(toMs).toISOString()
  const range = { fromMs: (fromMs ?? 0) - reachMs(policy), toMs, isGapless: true }
  let [read, readTo, isCut, isEnded] = [0, null as string | null, false, true]
  const take = (step: PastStep) => {
    if (step.is === 'outcome') return backtest.outcome(step.id, step.kept, step.isFinal)
    const { at } = step.judged
    if (to !== null && at >= to) return
    const isBefore = from !== null && at < from
    if (step.isFound) return backtest.found(step.judged)
    backtest.request(step.id, step.judged, isBefore)
    if (!isBefore && (readTo === null || at > readTo)) readTo = at
  }
  for await (const page of readPast(ports, owner, range)) {
    // Only with more to read: so it is known that this was not all.
    isEnded = !isCut
    if (isCut) break
    read += page.read
    for (const step of page.steps) take(step)
    isCut = !onRead(page.read, backtest.counted())
  }
  return { result: backtest.result(), read, readTo, isCut: !isEnded, ms: performance.now() - startedAt }
}

/** How far before a request something can still count for it: windows, and prices. */
function reachMs({ rules, maxPriceAgeMs }: CompiledPolicy): number {
  return Math.max(maxPriceAgeMs, ...rules.map(({ limit }) => (limit?.windowSeconds ?? 0) * 1_000 * (97 / 96)))
}
