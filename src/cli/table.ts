/** Columns of text for a terminal, aligned and without borders, so that `awk` and `grep` can read them too. */
import Table from 'cli-table3'
import { shownText } from './printed.ts'

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

/** The rows under their headings; each line ends with a line feed. A cell is one line, of any length, without colours. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({ chars: NO_BORDERS, style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] } })
  table.push([...head], ...rows.map((row) => row.map((cell) => shownText(cell, Number.POSITIVE_INFINITY))))
  return table
    .toString()
    .split('\n')
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
