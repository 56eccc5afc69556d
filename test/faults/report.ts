/** Shows the progress of rounds: a bar on a terminal, lines in a log, and a table at the end. */
import type { WriteStream } from 'node:tty'
import type { World } from '../support/world.ts'
import type { Progress, RoundResult } from './run-round.ts'
import { type Hits, NO_HITS } from './strike.ts'

export type Report = {
  readonly say: (text: string) => void
  readonly progress: (progress: Progress) => void
  readonly row: (seed: number, result: RoundResult) => void
  /** Prints the table, the totals and the proxies' counters; returns the exit code. */
  readonly close: (world: World) => number
}

type Sums = {
  hits: Hits
  accepted: number
  once: number
  ended: number
  doubled: number
  lost: number
  problems: number
  recoveriesMs: number[]
}

const HEAD = [
  'seed',
  'kills',
  'stops',
  'reorgs',
  'lies',
  'PostgreSQL',
  'others',
  'accepted',
  'once on chain',
  'ended',
  'doubled',
  'lost',
  'problems',
  'events',
  'ready s',
  'settled s',
  'first confirmation s',
]
const BAR_WIDTH = 30
const CLEAR = '\r\x1b[K'
/** Interval of the lines in a log. */
const LINE_EVERY_MS = 5_000
/** Maximum problems printed per round. */
const SHOWN = 20

export function createReport(out: Pick<WriteStream, 'write' | 'isTTY'>): Report {
  const rows: string[][] = []
  const sums: Sums = {
    hits: NO_HITS,
    accepted: 0,
    once: 0,
    ended: 0,
    doubled: 0,
    lost: 0,
    problems: 0,
    recoveriesMs: [],
  }
  let lastTold = 0

  const say = (text: string) => void out.write(`${out.isTTY ? CLEAR : ''}${text}\n`)
  return {
    say,
    progress({ answered, of, unsettled, fault }) {
      if (fault !== null) return say(`  ! ${fault}`)
      const bar = describe(answered, of, unsettled)
      if (out.isTTY) return void out.write(`${CLEAR}${bar}`)
      if (performance.now() - lastTold < LINE_EVERY_MS) return
      lastTold = performance.now()
      say(`  ${bar}`)
    },
    row(seed, result) {
      const row = toRow(seed, result, sums)
      rows.push(row)
      say(
        `  → ${HEAD.slice(1)
          .map((name, index) => `${name} ${row[index + 1]}`)
          .join(' · ')}`,
      )
      for (const problem of result.audit.problems.slice(0, SHOWN)) say(`  ✗ ${problem}`)
    },
    close(world) {
      const { accepted, once, ended, doubled, lost, problems, recoveriesMs } = sums
      const counts = [...hitCells(sums.hits), accepted, once, ended, doubled, lost, problems]
      const total = ['all', ...counts, '', '', '', recoveriesMs.length === 0 ? '' : spanOf(recoveriesMs)].map(String)
      say(['', line(HEAD), line(HEAD.map(() => '---')), ...rows.map(line), line(total), ''].join('\n'))
      say(`answers: ${tell(world.service.api.counts)}`)
      say(`nodes said: ${tell(added(Object.values(world.nodes).map(({ told }) => told)))}`)
      say(`statements: ${tell(world.database.struck)}`)
      return problems === 0 && doubled === 0 && lost === 0 ? 0 : 1
    },
  }
}

/** The audit covers everything since the start; the row shows what this round added. */
function toRow(seed: number, { audit, hits, events, readyMs, settledMs, recoveriesMs }: RoundResult, sums: Sums) {
  const { accepted, once, ended, doubled, lost, problems } = audit
  const cells = [
    ...hitCells(hits),
    accepted - sums.accepted,
    once - sums.once,
    ended - sums.ended,
    doubled,
    lost,
    problems.length,
    events,
  ]
  Object.assign(sums, { accepted, once, ended, doubled, lost, problems: sums.problems + problems.length })
  sums.hits = Object.fromEntries(
    Object.entries(sums.hits).map(([kind, count]) => [kind, count + hits[kind as keyof Hits]]),
  ) as Hits
  sums.recoveriesMs.push(...recoveriesMs)
  return [seed, ...cells, inSeconds(readyMs), inSeconds(settledMs), recoveriesMs.map(inSeconds).join(' ')].map(String)
}

function hitCells({ kills, pauses, reorgs, lies, databaseFaults, others }: Hits): number[] {
  return [kills, pauses, reorgs, lies, databaseFaults, others]
}

function spanOf(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const [least = 0, median = 0, most = 0] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
  return `${inSeconds(least)} to ${inSeconds(most)}, median ${inSeconds(median)}`
}

function inSeconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}

function added(counts: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const sum = new Map<string, number>()
  for (const [what, count] of counts.flatMap((one) => [...one])) sum.set(what, (sum.get(what) ?? 0) + count)
  return sum
}

function tell(counts: ReadonlyMap<string, number>): string {
  const parts = [...counts].sort(([, a], [, b]) => b - a).map(([what, count]) => `${what}: ${count}`)
  return parts.join(', ') || 'nothing'
}

function describe(answered: number, of: number, unsettled: Progress['unsettled']): string {
  const filled = Math.round((BAR_WIDTH * answered) / of)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${answered}/${of} answered`
  if (unsettled === null) return bar
  const open = Object.entries(unsettled.open).map(([state, count]) => `${count} ${state}`)
  return `${bar} · ${[...open, ...unsettled.behind.map((chain) => `waits for ${chain}`)].join(', ') || 'settled'}`
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
