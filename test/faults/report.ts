/** Shows rounds as they go: a bar on a terminal, lines in a log, and a table at the end. */
import type { WriteStream } from 'node:tty'
import { describeFault, type Fault } from './fault-plan.ts'
import type { Progress, RoundResult } from './run-round.ts'

export type Report = {
  readonly say: (text: string) => void
  readonly progress: (progress: Progress) => void
  readonly row: (seed: number, faults: readonly Fault[], result: RoundResult) => void
  /** Prints the table and the sums; returns the exit code. */
  readonly close: (counts: ReadonlyMap<string, number>) => number
}

type Sums = {
  hits: number
  accepted: number
  once: number
  ended: number
  doubled: number
  lost: number
  problems: number
}

const HEAD = [
  'seed',
  'faults',
  'hits',
  'accepted',
  'once on chain',
  'ended',
  'doubled',
  'lost',
  'problems',
  'ready s',
  'settled s',
]
const BAR_WIDTH = 30
const CLEAR = '\r\x1b[K'
/** A log is told now and then. */
const LINE_EVERY_MS = 5_000
/** Problems of a round that are printed: more say the same. */
const SHOWN = 20

export function createReport(out: Pick<WriteStream, 'write' | 'isTTY'>): Report {
  const rows: string[][] = []
  const sums: Sums = { hits: 0, accepted: 0, once: 0, ended: 0, doubled: 0, lost: 0, problems: 0 }
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
    row(seed, faults, result) {
      const row = toRow(seed, faults, result, sums)
      rows.push(row)
      say(
        `  → ${HEAD.slice(2)
          .map((name, index) => `${name} ${row[index + 2]}`)
          .join(' · ')}`,
      )
      for (const problem of result.audit.problems.slice(0, SHOWN)) say(`  ✗ ${problem}`)
    },
    close(counts) {
      const { hits, accepted, once, ended, doubled, lost, problems } = sums
      const total = ['all', '', hits, accepted, once, ended, doubled, lost, problems, '', ''].map(String)
      say(['', line(HEAD), line(HEAD.map(() => '---')), ...rows.map(line), line(total), ''].join('\n'))
      say(
        `answers: ${[...counts]
          .sort(([, a], [, b]) => b - a)
          .map(([answer, count]) => `${answer}: ${count}`)
          .join(', ')}`,
      )
      return problems === 0 && doubled === 0 && lost === 0 ? 0 : 1
    },
  }
}

/** The audit looks at everything since the start; the row tells what this round added. */
function toRow(
  seed: number,
  faults: readonly Fault[],
  { audit, hits, readyMs, settledMs }: RoundResult,
  sums: Sums,
): string[] {
  const added = [audit.accepted - sums.accepted, audit.once - sums.once, audit.ended - sums.ended]
  const { accepted, once, ended, doubled, lost } = audit
  Object.assign(sums, {
    accepted,
    once,
    ended,
    doubled,
    lost,
    hits: sums.hits + hits,
    problems: sums.problems + audit.problems.length,
  })
  const seconds = [readyMs, settledMs].map((ms) => (ms / 1_000).toFixed(1))
  return [
    seed,
    faults.map(describeFault).join(', '),
    hits,
    ...added,
    doubled,
    lost,
    audit.problems.length,
    ...seconds,
  ].map(String)
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
