/** Shows the points at which processes were killed, and the time until everything was settled again. */
import { isEffect } from '../support/fault-points.ts'
import type { Kill } from './kill-points.ts'

/** One line for each step of a process, as Markdown, for use in the documentation. */
export function tableOf(kills: readonly Kill[]): string[] {
  const rows = new Map<string, { before: number; after: number; between: number; slowestMs: number }>()
  for (const { point, hit, recoveredMs } of kills) {
    const { kind, place } = point
    const row = rows.get(`${kind} | ${place.step}`) ?? { before: 0, after: 0, between: 0, slowestMs: 0 }
    rows.set(`${kind} | ${place.step}`, row)
    if (!hit) continue
    row[place.afterEffect === undefined ? place.moment : 'between'] += 1
    row.slowestMs = Math.max(row.slowestMs, recoveredMs)
  }
  return [
    '| process | step | killed before | killed after | killed between another effect and it | settled after at most |',
    '|---|---|---|---|---|---|',
    ...[...rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(
        ([name, { before, after, between, slowestMs }]) =>
          `| ${name} | ${before} | ${after} | ${between} | ${(slowestMs / 1_000).toFixed(1)} s |`,
      ),
  ]
}

/** As text, for a test's comments. */
export function summaryOf(kills: readonly Kill[]): string {
  const hits = kills.filter(({ hit }) => hit)
  const effects = hits.filter(({ point }) => isEffect(point.place.step))
  const slowest = Math.max(0, ...hits.map(({ recoveredMs }) => recoveredMs))
  return `${hits.length} kills, ${effects.length} of them around what leaves a trace; settled after ${Math.round(slowest)} ms at most`
}
