/**
 * The only place from which commands print. No text of a tenant, a node or a file controls the terminal: control
 * characters, bidirectional marks and other invisible characters are printed as escapes, and only colours of this
 * process pass. JSON has the same values: its escapes are those of JSON.
 */
import { randomInt } from 'node:crypto'
import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import { UNFIT_FOR_DISPLAY } from '../core/plain-text.ts'
import type { Paint } from './command.ts'

/** Characters of one field in text; `--json` has the whole value. */
const MAX_FIELD = 1_000
/** Characters of a remark or an error, which may quote several fields. */
const MAX_LINE = 4_000
const COLOURS = ['bold', 'dim', 'red', 'green', 'yellow'] as const

/**
 * Colours carry these parameters until they are printed, so that a colour in a foreign text is not taken for one of
 * this process.
 */
const OWN = Array.from({ length: 4 }, () => randomInt(1_000, 10_000)).join(';')
const IN_TEXT = new RegExp(`\\u001b\\[(\\d{1,2});${OWN}m|(?!\\n)${UNFIT_FOR_DISPLAY.source}`, 'gu')
const IN_LINE = new RegExp(UNFIT_FOR_DISPLAY.source, 'gu')
/** JSON Lines keep their line feeds, and indented JSON its tabs. */
const IN_JSON = new RegExp(`(?![\\n\\t])${UNFIT_FOR_DISPLAY.source}`, 'gu')
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * A foreign text as a part of a line: what controls a terminal is escaped, line breaks too, and text beyond the limit
 * is cut off, with its length.
 *
 * @param most code units kept
 */
export function shownText(text: string, most = MAX_FIELD): string {
  if (text.length <= most) return escaped(text, IN_LINE)
  const rest = `… (${text.length} characters)`
  return `${escaped(text.slice(0, most - rest.length).replace(/[\ud800-\udbff]$/u, ''), IN_LINE)}${rest}`
}

/**
 * A copy of data in which every string, and every name of a member, is as `shownText` returns it: for the text of a
 * result. Instances of classes other than `Map` and `Set` are not copied.
 */
export function shown<T>(data: T): T {
  return shownValue(data) as T
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'string') return shownText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(shownValue)
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [shownValue(key), shownValue(item)]))
  if (value instanceof Set) return new Set([...value].map(shownValue))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [shownText(name), shownValue(item)]))
}

/** Prints lines. Line feeds stay: a field in it must be `shown`. */
export function printText(stream: Writable, text: string): void {
  stream.write(escaped(text, IN_TEXT))
}

/** Prints a remark or an error as one line. */
export function printLine(stream: Writable, text: string): void {
  stream.write(`${shownText(text.trim().replaceAll(/\s*\n\s*/g, ' '), MAX_LINE)}\n`)
}

/** Prints a value as one line of JSON, which parses to the same value. */
export function printJson(stream: Writable, value: unknown): void {
  stream.write(`${jsonText(value)}\n`)
}

/** A value as JSON, with all its characters: those that control a terminal are escapes of JSON. */
export function jsonText(value: unknown, indent = 0): string {
  return escapedJson(JSON.stringify(value, null, indent))
}

/** Prints an error that nobody expected, with its stack and its causes. */
export function printFailure(stream: Writable, error: unknown): void {
  printText(stream, `${inspect(error, { maxStringLength: MAX_LINE })}\n`)
}

/**
 * The stream for JSON that does not fit in a string. A file or a pipe gets every byte; a terminal gets the same JSON
 * with escapes.
 */
export function streamOfJson(stream: Writable & { readonly isTTY?: boolean }): Writable {
  if (stream.isTTY !== true) return stream
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      stream.write(escapedJson(String(chunk)), done)
    },
  })
}

/** https://no-color.org */
export function paintFor(coloured: boolean): Paint {
  return Object.fromEntries(
    COLOURS.map((colour) => {
      const [open = 0, close = 0] = inspect.colors[colour] ?? []
      const sequence = (code: number) => `\u001b[${code};${OWN}m`
      return [colour, (text: string) => (coloured ? `${sequence(open)}${text}${sequence(close)}` : text)]
    }),
  ) as Paint
}

function escaped(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (found: string, colour: unknown) => {
    // Without a group in the pattern, this is the place of the match.
    if (typeof colour === 'string') return `\u001b[${colour}m`
    return SHORT[found] ?? `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`
  })
}

/** Outside of strings, JSON has none of these characters: each is in a string, where an escape means the same. */
function escapedJson(json: string): string {
  return json.replaceAll(IN_JSON, (found) =>
    Array.from(
      { length: found.length },
      (_, index) => `\\u${found.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}
