/**
 * The result of a benchmark: the figure, a ceiling measured in the same run, and their ratio, as a table and as JSON.
 */
import { cpus, loadavg, totalmem } from 'node:os'

export type Figure = {
  readonly bench: string
  readonly unit: string
  readonly ours: number
  /** A description of the ceiling; empty for a figure without one. */
  readonly ceilingIs: string
  readonly ceiling: number
  readonly note?: string
  /** The ceiling must not be exceeded: the command then fails. */
  readonly isLimit?: boolean
}

export type Report = {
  readonly machine: string
  readonly node: string
  /** The load average of the last minute: above the number of cores, other processes were running too. */
  readonly load: number
  readonly at: string
  readonly figures: readonly Figure[]
}

export function makeReport(figures: readonly Figure[]): Report {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB`
  return { machine, node: process.version, load: loadavg()[0] ?? 0, at: new Date().toISOString(), figures }
}

/** A line for each limit that was exceeded. */
export function brokenLimits(figures: readonly Figure[]): string[] {
  return figures
    .filter(({ isLimit, ours, ceiling }) => isLimit && ours > ceiling)
    .map(({ bench, unit, ours, ceiling }) => `${bench}: ${short(ours)} ${unit}, the limit is ${short(ceiling)} ${unit}`)
}

export function toTable({ machine, node, load, figures }: Report): string {
  const rows = figures.map(({ bench, unit, ours, ceiling, ceilingIs, note }) => [
    bench,
    `${short(ours)} ${unit}`,
    ceilingIs === '' ? '' : `${short(ceiling)} ${unit}`,
    ceilingIs === '' || ceiling === 0 ? '' : `${Math.round((100 * ours) / ceiling)} %`,
    ceilingIs,
    note ?? '',
  ])
  const header = ['bench', 'Bursar', 'ceiling', 'ratio', 'the ceiling is', 'note']
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [
    `${machine}, Node ${node}, load ${load.toFixed(1)} at the end`,
    '',
    line(header),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
  ].join('\n')
}

function short(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 1 : 0 })
}
