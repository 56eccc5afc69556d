/** What commands print controls no terminal, whatever the text of a tenant, a node or a file is. */
import { readdir, readFile } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import t from 'tap'
import {
  paintFor,
  printFailure,
  printJson,
  printLine,
  printText,
  shown,
  shownText,
  streamOfJson,
} from '../../src/cli/printed.ts'
import { toTable } from '../../src/cli/table.ts'
import { HOSTILE, unprintableIn } from '../support/hostile-text.ts'

/** Writes to a standard stream. Two commands write JSON to the stream that the printer gives them. */
const WRITES = /\bprocess\s*\.std(?:out|err)\s*\.write\(|\bconsole\.(?:log|error|warn|info)\(/

function printedBy(print: (stream: PassThrough) => void): string {
  const stream = new PassThrough()
  print(stream)
  return String(stream.read() ?? '')
}

t.test('a text has no character that controls a terminal, but for its line feeds', (t) => {
  const printed = printedBy((out) => printText(out, `first\n${HOSTILE}\u001b[31mred\n`))
  t.equal(unprintableIn(printed), null)
  t.match(printed, /^first\n/)
  t.match(printed, /\\u\{1b\}\[31mred\n$/)
  t.end()
})

t.test('a colour of this process passes, the same colour in a foreign text does not', (t) => {
  const { red, bold } = paintFor(true)
  t.equal(
    printedBy((out) => printText(out, red('own'))),
    '\u001b[31mown\u001b[39m',
  )
  t.equal(
    printedBy((out) => printText(out, bold('\u001b[32mgreen'))),
    '\u001b[1m\\u{1b}[32mgreen\u001b[22m',
  )
  t.equal(
    printedBy((out) => printText(out, red('\u001b[31;1;2;3;4m'))),
    '\u001b[31m\\u{1b}[31;1;2;3;4m\u001b[39m',
  )
  t.equal(paintFor(false).red('plain'), 'plain')
  t.end()
})

t.test('a field is one line of bounded length', (t) => {
  t.equal(
    shownText('a\nb\tc\rd\u0000\u009b31m\u202e\u2028\ud800'),
    'a\\nb\\tc\\rd\\u{0}\\u{9b}31m\\u{202e}\\u{2028}\\u{d800}',
  )
  const long = shownText('x'.repeat(10_000))
  t.equal(long.length, 1_000)
  t.match(long, /^x+… \(10000 characters\)$/)
  t.match(shownText('😀'.repeat(5_000)), /^(?:😀)+… \(10000 characters\)$/u, 'no character is cut in two')
  t.equal(shownText('Konto 👩‍👩‍👧 ❤️ łódź'), 'Konto 👩‍👩‍👧 ❤️ łódź', 'text of people stays')
  t.end()
})

t.test('every string of data is shown, in lists, maps and names of members too', (t) => {
  const at = new Date(0)
  const data = {
    text: 'a\nb',
    list: ['\u001b'],
    map: new Map([['\r', new Set(['\u0007'])]]),
    at,
    none: null,
    'na\nme': 1n,
  }
  t.strictSame(shown(data) as unknown, {
    text: 'a\\nb',
    list: ['\\u{1b}'],
    map: new Map([['\\r', new Set(['\\u{7}'])]]),
    at,
    none: null,
    'na\\nme': 1n,
  })
  t.end()
})

t.test('a remark and an error are one line each', (t) => {
  t.equal(
    printedBy((err) => printLine(err, 'one\n  two \u001b[2J')),
    'one two \\u{1b}[2J\n',
  )
  const printed = printedBy((err) => printLine(err, `${HOSTILE}${'x'.repeat(10_000)}`))
  t.equal(unprintableIn(printed), null)
  t.equal(printed.indexOf('\n'), printed.length - 1)
  t.ok(printed.length < 10_000)
  t.equal(unprintableIn(printedBy((err) => printFailure(err, new TypeError(HOSTILE, { cause: HOSTILE })))), null)
  t.end()
})

t.test('JSON parses to the same value and controls no terminal', async (t) => {
  const value = { [HOSTILE]: HOSTILE, flag: '🏴\u{e0067}\u{e007f}' }
  const printed = printedBy((out) => printJson(out, value))
  t.equal(unprintableIn(printed), null)
  t.equal(printed.indexOf('\n'), printed.length - 1)
  t.strictSame(JSON.parse(printed), value)
  const terminal = Object.assign(new PassThrough(), { isTTY: true })
  streamOfJson(terminal).write(`${JSON.stringify(value)}\n`)
  t.equal(String(terminal.read()), printed)
  const pipe = new PassThrough()
  t.equal(streamOfJson(pipe), pipe, 'a pipe gets every byte as it is')
})

t.test('a cell of a table is one line', (t) => {
  const table = toTable(
    ['a', 'b'],
    [
      ['x\ny', '\u001b[2J'],
      ['long value', 'z'],
    ],
  )
  t.equal(table, 'a           b\nx\\ny        \\u{1b}[2J\nlong value  z\n')
  t.end()
})

t.test('no other file writes to a terminal', async (t) => {
  const root = new URL('../../', import.meta.url)
  const files = (
    await Promise.all(
      ['src', 'workers'].map((folder) =>
        readdir(new URL(folder, root), { recursive: true }).then((names) => names.map((name) => `${folder}/${name}`)),
      ),
    )
  ).flat()
  const sources = files.filter((name) => name.endsWith('.ts') && !/^src\/(?:generated|cli)\//.test(name))
  t.ok(sources.length > 1_000)
  const writing = await Promise.all(
    sources.map(async (name) => (WRITES.test(await readFile(new URL(name, root), 'utf8')) ? [name] : [])),
  )
  t.strictSame(writing.flat(), [])
})
