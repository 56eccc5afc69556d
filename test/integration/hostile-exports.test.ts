/** Files that are no export, or were changed: each is refused with one line that says where, and nothing is imported. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { replayCommands } from '../../src/compose/replay-commands.ts'
import { linesOfExport, MAX_LINE_BYTES } from '../../src/event-log/export-lines.ts'
import { runCommandLine } from '../support/cli.ts'
import { GOLDEN_HEADER, goldenEvents } from '../support/golden-history.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withDatabase } from '../support/postgres.ts'

const EVENTS = goldenEvents()
/** The event that is changed. */
const AT = 5
const LINE = new RegExp(`^Line ${AT + 2}[ :]`)

type Change = (event: Record<string, unknown>) => unknown

/** A file with a fitting digest at its end. */
function fileOf(body: readonly string[]): string {
  const text = body.map((line) => `${line}\n`).join('')
  const rows = body.filter((line) => line.startsWith('{"table"')).length
  const sha256 = createHash('sha256').update(text).digest('hex')
  return `${text}${JSON.stringify({ events: body.length - 1 - rows, rows, sha256 })}\n`
}

function withText(change: (line: string) => string): string {
  return fileOf([GOLDEN_HEADER, ...EVENTS.map((line, index) => (index === AT ? change(line) : line))])
}

function withEvent(change: Change): string {
  return withText((line) => {
    const event = JSON.parse(line) as Record<string, unknown>
    return JSON.stringify(change(event) ?? event)
  })
}

const set = (members: Readonly<Record<string, unknown>>) => withEvent((event) => ({ ...event, ...members }))
const withRow = (table: string, row: unknown) => fileOf([GOLDEN_HEADER, ...EVENTS, JSON.stringify({ table, row })])
const deep = (open: string, close: string) => `${open.repeat(200_000)}1${close.repeat(200_000)}`
const header = (members: object) => fileOf([JSON.stringify({ ...JSON.parse(GOLDEN_HEADER), ...members }), ...EVENTS])
const LAST_ROW = new RegExp(`^Line ${EVENTS.length + 2}[ :]`)
const CURSOR = { chain_id: 1, number: 7, hash: '0xb7', head: 9, updated_at: '2026-11-21T12:00:00Z' }

/** The highest position but that of the last event. */
const END = Math.max(...EVENTS.slice(0, -1).map((line) => Number(JSON.parse(line).position)))
const moved = (line: string, by: number) => {
  const event = JSON.parse(line) as { position: string }
  return JSON.stringify({ ...event, position: String(Number(event.position) + by) })
}

const FILES: Readonly<Record<string, readonly [content: string | Buffer, told: RegExp]>> = {
  'an empty file': ['', /empty/],
  'a file of NUL': ['\0'.repeat(5_000), /not an export/],
  'bytes that are not UTF-8': [Buffer.from([0x7b, 0xff, 0xfe, 0x0a]), /^Line 1 is not UTF-8/],
  'a compressed file': [gzipSync(fileOf([GOLDEN_HEADER, ...EVENTS])), /^Line 1 is not UTF-8/],
  'a web page': ['<!doctype html>\n<html></html>\n', /not an export/],
  'a header that is a list': ['[1]\n', /not an export/],
  'a header of another version': [header({ version: { toString: 1 } }), /version/],
  'a header of a part': [header({ whole: false, tenant: 'acme' }), /only a part .*tenant acme/],
  'a header of a part of nothing': [header({ whole: false, from: { toString: 1 } }), /only a part/],
  'a line without text': [withText(() => ''), LINE],
  'a line of a number': [withText(() => '7'), LINE],
  'a cut line': [withText((line) => line.slice(0, 60)), LINE],
  'lists in lists': [withText((line) => line.replace('"data":{', `"data":{"x":${deep('[', ']')},`)), LINE],
  'objects in objects': [withText((line) => line.replace('"data":{', `"data":{"x":${deep('{"a":', '}')},`)), LINE],
  'lists in lists with an escape': [
    withText((line) => line.replace('"data":{', `"data":{"y":"\\u0000","x":${deep('[', ']')},`)),
    LINE,
  ],
  'a position beyond 64 bits': [set({ position: '9999999999999999999' }), LINE],
  'the last position': [set({ position: '9223372036854775807' }), /^Line \d+(?: has the position|: event)/],
  'a position far above the others': [
    fileOf([GOLDEN_HEADER, ...EVENTS.slice(0, -1), last({ position: '4611686018427387904' })]),
    new RegExp(`^Line ${EVENTS.length + 1} has the position 4611686018427387904 and leaves out the \\d+ before it`),
  ],
  'a gap that is larger than those of refused appends': [
    fileOf([GOLDEN_HEADER, ...EVENTS.slice(0, -1), last({ position: String(END + 10_002) })]),
    new RegExp(`^Line ${EVENTS.length + 1} has .* use --allow-gaps 10001\\.$`, 'm'),
  ],
  'a gap before the first event, after a row': [
    fileOf([
      ...[GOLDEN_HEADER, JSON.stringify({ table: 'chain_cursors', row: CURSOR })],
      ...EVENTS.map((line) => moved(line, 1_000_000_000_000)),
    ]),
    /^Line 3 has the position \d+ and leaves out the 1000000000000 before it, .* Export the log again/,
  ],
  'a position twice': [set({ position: JSON.parse(EVENTS[AT + 1] ?? '').position }), /^Line \d+:? /],
  'position 0': [set({ position: '0' }), LINE],
  'a position that is no number': [set({ position: 'x' }), LINE],
  'a transaction id beyond 64 bits': [set({ transaction_id: '9999999999999999999' }), /^Line \d+: event/],
  'a version twice': [set({ stream_id: JSON.parse(EVENTS[0] ?? '').stream_id, stream_version: 1 }), LINE],
  'a version beyond 32 bits': [set({ stream_version: 2 ** 40 }), LINE],
  'a schema version beyond 32 bits': [set({ schema_version: 2 ** 40 }), LINE],
  'a stream with a name too long for its index': [set({ stream_id: `wallet-${noise(9_000)}` }), LINE],
  'a time that does not exist': [set({ recorded_at: '+275760-09-13T00:00:00.000Z' }), LINE],
  'a time of another form': [set({ recorded_at: '1' }), LINE],
  'a hash that is no hash': [set({ hash: 'zz' }), LINE],
  'data of a list': [set({ data: [] }), /Event \d+/],
  'data of another event': [set({ data: {} }), /Event \d+|contradicts/],
  'metadata without a tenant': [set({ metadata: {} }), /Event \d+/],
  'metadata with a tenant that is no text': [set({ metadata: { tenantId: { a: 1 } } }), /Event \d+/],
  'an unknown type': [set({ type: 'Nothing' }), /Event \d+/],
  'an unknown stream': [set({ stream_id: 'nothing-1', stream_version: 1 }), /Event \d+/],
  'a cursor without a number': [withRow('chain_cursors', { chain_id: 1 }), LAST_ROW],
  'a cursor with a text for a number': [withRow('chain_cursors', { ...CURSOR, number: 'x' }), LAST_ROW],
  'a cursor beyond 64 bits': [withRow('chain_cursors', { ...CURSOR, number: 1e30 }), LAST_ROW],
  'a cursor that is a list': [withRow('chain_cursors', [1]), LAST_ROW],
  'a block with a time beyond 64 bits': [
    withRow('chain_blocks', { chain_id: 1, number: 1, hash: 'a', parent_hash: 'b', timestamp: 1e300 }),
    LAST_ROW,
  ],
  'a row of another table': [withRow('api_keys', {}), LAST_ROW],
  'a digest that is no digest': [`${[GOLDEN_HEADER, ...EVENTS].join('\n')}\n{"sha256":null}\n`, /was changed/],
}

function last(members: object): string {
  return JSON.stringify({ ...JSON.parse(EVENTS.at(-1) ?? ''), ...members })
}

/** Text that no index compresses. */
function noise(length: number): string {
  let text = ''
  for (let n = 0; text.length < length; n += 1) text += createHash('sha256').update(String(n)).digest('base64url')
  return text.slice(0, length)
}

t.test('a hostile file is refused with one line, and nothing is imported', async (t) => {
  const { pool, url } = await withDatabase(t)
  const directory = t.testdir()
  const commands = replayCommands({ DATABASE_URL: url, SANDBOX: 'true', DATA_DIR: directory })
  const file = join(directory, 'log.jsonl')
  t.ok(Object.keys(FILES).length > 33)
  for (const [what, [content, told]] of Object.entries(FILES)) {
    await writeFile(file, content)
    // Without --verify, so that more of the file gets as far as the database.
    const { code, out, err } = await runCommandLine(commands, ['import', file]).catch((error: Error) => ({
      code: -1,
      out: '',
      err: `${error.stack}`,
    }))
    t.strictSame([code, out], [1, ''], `${what}: ${err.slice(0, 300)}`)
    t.match(err, /^[^\n]{1,1000}\n$/, `${what}: one line`)
    t.match(err, told, what)
  }
  t.equal((await pool.query('SELECT FROM events')).rowCount, 0)
  const far = fileOf([GOLDEN_HEADER, ...EVENTS.slice(0, -1), last({ position: String(END + 10_002) })])
  await writeFile(file, far)
  for (const given of ['10000', '0', '-1', '1e4', '1000000001'])
    t.match(await runCommandLine(commands, ['import', file, '--allow-gaps', given]), {
      code: given === '10000' ? 1 : 2,
    })
  t.equal((await pool.query('SELECT FROM events')).rowCount, 0)
  await writeFile(file, fileOf([GOLDEN_HEADER, ...EVENTS, JSON.stringify({ table: 'chain_cursors', row: CURSOR })]))
  const { code, out, err } = await runCommandLine(commands, ['import', file, '--json'])
  t.equal(code, 0, err)
  t.match(err, /^1 rows of cursors and block hashes are not proved by any checkpoint\. .*chain 1 at block 7/m)
  matchExactly(t, JSON.parse(out), { unproved_rows: 1, cursors: [{ chain_id: '1', block: '7' }] })
})

t.test('a gap that the operator allows is imported and counted', async (t) => {
  const { url } = await withDatabase(t)
  const directory = t.testdir()
  const commands = replayCommands({ DATABASE_URL: url, SANDBOX: 'true', DATA_DIR: directory })
  const file = join(directory, 'log.jsonl')
  await writeFile(file, fileOf([GOLDEN_HEADER, ...EVENTS.slice(0, -1), last({ position: String(END + 10_002) })]))
  const { code, out, err } = await runCommandLine(commands, ['import', file, '--allow-gaps', '10001', '--json'])
  t.equal(code, 0, err)
  const positions = EVENTS.slice(0, -1)
    .map((line) => Number(JSON.parse(line).position))
    .concat(END + 10_002, 0)
    .sort((a, b) => a - b)
  const gaps = positions.slice(1).map((position, index) => position - (positions[index] ?? 0) - 1)
  const all = gaps.filter((gap) => gap > 0)
  const sum = all.reduce((left, right) => left + right)
  t.match(JSON.parse(out), { position_gaps: all.length, positions_left_out: String(sum) })
  t.match(err, new RegExp(`${sum.toLocaleString('en-US')} positions in ${all.length} gaps belong to no event`))
})

t.test('a line of 600 MB is refused before it is in memory', async (t) => {
  const { pool, url } = await withDatabase(t)
  const directory = t.testdir()
  const file = join(directory, 'log.jsonl')
  const chunk = Buffer.alloc(1_000_000, 'x')
  await pipeline(Readable.from(Array.from({ length: 600 }, () => chunk)), createWriteStream(file))
  const commands = replayCommands({ DATABASE_URL: url, SANDBOX: 'true', DATA_DIR: directory })
  const { code, err } = await runCommandLine(commands, ['import', file])
  t.strictSame([code, err], [1, `Line 1 is longer than ${MAX_LINE_BYTES} bytes: the file is not an export.\n`])
  t.equal((await pool.query('SELECT FROM events')).rowCount, 0)
  let read = 0
  async function* endless() {
    for (;;) {
      read += chunk.length
      yield chunk
    }
  }
  await t.rejects(linesOfExport(endless()).next(), { code: 'bad_export' })
  t.ok(read <= MAX_LINE_BYTES + chunk.length, 'nothing is read beyond the limit')
})

t.test('lines are the same however the file is cut into pieces', async (t) => {
  const text = 'é\u2028one\r\n\r\n\u0085two 🗼\nthree'
  const bytes = Buffer.from(text)
  for (let size = 1; size <= bytes.length; size += 1) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    )
    const lines: string[] = []
    for await (const line of linesOfExport(Readable.from(pieces))) lines.push(line)
    t.strictSame(lines, ['é\u2028one', '', '\u0085two 🗼', 'three'], `pieces of ${size}`)
  }
})
