/** Reads and validates the lines of an export: each has the expected form, and none is missing or replaced. */
import type { Hash } from 'node:crypto'
import { duplicateMember } from './duplicate-member.ts'
import {
  BadExport,
  CARRIED_TABLES,
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportedEvent,
  type ExportedRow,
  type ExportFooter,
  type ExportHeader,
} from './export-format.ts'
import { storable } from './storable.ts'

export type ExportLine =
  | { readonly kind: 'event'; readonly value: ExportedEvent; readonly text: string; readonly number: number }
  | { readonly kind: 'row'; readonly value: ExportedRow; readonly number: number }

/**
 * Passes each event, then each row beside the log, to `take`.
 *
 * @param digest a new SHA-256
 * @throws BadExport with the line number when the file is not a full log
 */
export async function readExport(
  lines: AsyncIterable<string>,
  digest: Hash,
  take: (line: ExportLine) => Promise<void>,
): Promise<void> {
  let number = 0
  let events = 0
  let rows = 0
  let footer: ExportFooter | null = null
  for await (const text of lines) {
    number += 1
    if (footer !== null) throw new BadExport(`Line ${number} comes after the end of the export.`)
    const value = parseShallow(text, number)
    if (number === 1) requireWhole(value)
    else if ('sha256' in value) {
      footer = value as unknown as ExportFooter
      continue
    } else if (isEvent(value)) {
      requireKnown(value, EVENT_MEMBERS, number)
      events += 1
      await take({ kind: 'event', value, text, number })
    } else if (isCarried(value)) {
      requireKnown(value, ROW_MEMBERS, number)
      rows += 1
      await take({ kind: 'row', value, number })
    } else {
      throw new BadExport(`Line ${number} is neither an event nor a row of a table that an export contains.`)
    }
    digest.update(text).update('\n')
  }
  if (number === 0) throw new BadExport('The file is empty: it is not an export.')
  if (footer === null) throw new BadExport(`The export is truncated after line ${number}. Export the log again.`)
  if (footer.events !== events || footer.rows !== rows || footer.sha256 !== digest.digest('hex')) {
    throw new BadExport(
      'The export was changed: its last line does not match the lines before it. Export the log again.',
    )
  }
}

/** Functions that walk through a value use the stack for each level of it. */
function parseShallow(text: string, number: number): Readonly<Record<string, unknown>> {
  try {
    return parse(text, number)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new BadExport(`Line ${number} has too many levels of lists and objects: it is no event.`)
  }
}

/** NUL or half of a surrogate pair, perhaps. */
const ESCAPED = /\\u(?:0000|d[89a-f])/i

function parse(text: string, number: number): Readonly<Record<string, unknown>> {
  const value = parsed(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadExport(
      number === 1
        ? 'The file is not an export of the event log.'
        : `Line ${number} is truncated or is not a JSON object.`,
    )
  }
  if (ESCAPED.test(text) && JSON.stringify(storable(value)) !== JSON.stringify(value)) {
    throw new BadExport(
      `Line ${number} has a character that the database cannot store, so it was changed. Export the log again.`,
    )
  }
  const twice = duplicateMember(text)
  if (twice === null) return value as Record<string, unknown>
  throw new BadExport(
    `Line ${number} has the field ${shown(twice)} twice in one object, so it was changed. Export the log again.`,
  )
}

/** A line that is not JSON gets the same error as any other invalid line. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const EVENT_MEMBERS: ReadonlySet<string> = new Set<keyof ExportedEvent>([
  'position',
  'transaction_id',
  'stream_id',
  'stream_version',
  'type',
  'schema_version',
  'data',
  'metadata',
  'recorded_at',
  'hash',
])
const ROW_MEMBERS: ReadonlySet<string> = new Set<keyof ExportedRow>(['table', 'row'])

/** The database parses the line too: members that are not checked here must not reach it. */
function requireKnown(value: object, members: ReadonlySet<string>, number: number): void {
  const stray = Object.keys(value).find((name) => !members.has(name))
  if (stray !== undefined) {
    throw new BadExport(
      `Line ${number} has the unknown field ${shown(stray)}, so it was changed. Export the log again.`,
    )
  }
}

const LONGEST_SHOWN = 80

function shown(name: string): string {
  return JSON.stringify(name.slice(0, LONGEST_SHOWN))
}

function requireWhole(value: Readonly<Record<string, unknown>>): void {
  const header = value as Partial<ExportHeader>
  if (header.format !== EXPORT_FORMAT) throw new BadExport('The file is not an export of the event log.')
  if (header.version !== EXPORT_VERSION) {
    throw new BadExport(
      `The export has version ${typeof header.version === 'number' ? header.version : 'unknown'}, but this version of Bursar reads version ${EXPORT_VERSION}: use a newer version.`,
    )
  }
  if (header.whole !== true) {
    const { from, to, tenant } = header
    const part = Object.entries({ from, to, tenant }).map(
      ([name, place]) => typeof place === 'string' && `${name} ${place}`,
    )
    throw new BadExport(
      `The export contains only a part of the event log (${part.filter(Boolean).join(', ')}): export the whole log, without --from, --to and --tenant.`,
    )
  }
}

const DIGITS = /^[1-9]\d{0,18}$/
const HASH = /^(?:[0-9a-f]{2})+$/

function isEvent(value: Readonly<Record<string, unknown>>): value is ExportedEvent {
  const {
    position,
    transaction_id,
    stream_id,
    stream_version,
    type,
    schema_version,
    data,
    metadata,
    recorded_at,
    hash,
  } = value
  return (
    [position, transaction_id].every((digits) => typeof digits === 'string' && DIGITS.test(digits)) &&
    [stream_version, schema_version].every((version) => Number.isSafeInteger(version) && Number(version) > 0) &&
    [stream_id, type].every((name) => typeof name === 'string' && name !== '') &&
    [data, metadata].every((json) => typeof json === 'object' && json !== null) &&
    typeof recorded_at === 'string' &&
    !Number.isNaN(Date.parse(recorded_at)) &&
    typeof hash === 'string' &&
    HASH.test(hash)
  )
}

function isCarried(value: Readonly<Record<string, unknown>>): value is ExportedRow {
  const { table, row } = value
  return CARRIED_TABLES.some((name) => name === table) && typeof row === 'object' && row !== null
}
