/** Formats the results of replays. */
import type { CliIo, Progress } from '../cli/command.ts'
import { shown } from '../cli/printed.ts'
import type { Difference, Row } from '../event-log/compare-shadow.ts'
import type { Folded } from '../event-log/fold.ts'

export function count(n: number | bigint): string {
  return n.toLocaleString('en-US')
}

/** Rows of each read model, by name. */
export function rowsTable(io: CliIo, rows: Readonly<Record<string, number>>): string {
  const names = Object.keys(rows).sort()
  return io.table(
    ['read model', 'rows'],
    names.map((name) => [name, count(rows[name] ?? 0)]),
  )
}

/** One line for each differing column, or one for a row that exists on one side only. */
export function describe({ table, key, live, replayed }: Difference): string {
  const row = `${table} ${Object.values(key).join(' ')}`
  if (live === null) return `${row}: missing, but the log has it\n`
  if (replayed === null) return `${row}: not in the log\n`
  return changedColumns(live, replayed)
    .map((column) => `${row}: ${column} is ${live[column] ?? 'null'}, but ${replayed[column] ?? 'null'} in the log\n`)
    .join('')
}

function changedColumns(live: Row, replayed: Row): string[] {
  return Object.keys(live).filter((column) => live[column] !== replayed[column])
}

/** The streams that end before an event that cannot be read; nothing if there are none. */
export function heldText(io: CliIo, { held, heldStreams }: Pick<Folded, 'held' | 'heldStreams'>): string {
  if (heldStreams === 0) return ''
  const lines = shown(held)
    .map(({ reason }) => `${reason}\n`)
    .join('')
  const more = heldStreams > held.length ? `${count(heldStreams - held.length)} more are not listed.\n` : ''
  const title = `${count(heldStreams)} ${heldStreams === 1 ? 'stream ends' : 'streams end'} before a bad event: docs/operations.md, "A bad event".`
  return `\n${io.paint.red(title)}\n${lines}${more}`
}

/** A progress display that starts with the first reported number. */
export function progressOf(io: CliIo, unit: string) {
  let shown: Progress | null = null
  return {
    at(done: number, total: number | null) {
      shown ??= io.progress({ unit, total })
      shown.at(done)
    },
    end: () => shown?.end(),
  }
}
