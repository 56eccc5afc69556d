/** The golden log with hostile text wherever people write text, as a valid export. */
import { createHash } from 'node:crypto'
import type { Metadata } from '../../src/core/messages.ts'
import { ID_PREFIXES } from '../../src/declarations.ts'
import type { ExportedEvent } from '../../src/event-log/export-format.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'
import { GOLDEN_HEADER, goldenEvents } from './golden-history.ts'
import { HOSTILE } from './hostile-text.ts'

/** Members of events with text of tenants, contracts, nodes or operators. */
const TEXTS = new Set([
  ...['label', 'memo', 'note', 'name', 'description', 'contents', 'symbol', 'referenceId', 'url'],
  ...['reason', 'message', 'problem', 'error', 'by', 'actor', 'correlationId', 'causationId'],
])

/** The golden log has short ids, such as `tx_5`; commands take only ids of the service. */
const SHORT_ID = new RegExp(`\\b(${Object.values(ID_PREFIXES).join('|')})_(\\d+)\\b`, 'g')

/** @returns the lines, and the names of the members whose text was replaced */
export function hostileLog(): { readonly lines: readonly string[]; readonly replaced: ReadonlySet<string> } {
  const replaced = new Set<string>()
  const heads = new Map<string, string>()
  const events = goldenEvents().map((line) => {
    const event = JSON.parse(line.replaceAll(SHORT_ID, longId)) as ExportedEvent
    const { stream_id: streamId, stream_version: streamVersion, schema_version: schemaVersion } = event
    const data = poisoned(event.data, replaced)
    const metadata = poisoned(event.metadata, replaced) as Metadata
    const { type, recorded_at: recordedAt } = event
    const canonical = canonicalEvent({ streamId, streamVersion, type, schemaVersion, data, metadata, recordedAt })
    const hash = chainHash(heads.get(streamId) ?? '', canonical)
    heads.set(streamId, hash)
    return JSON.stringify({ ...event, data, metadata, hash })
  })
  const body = [GOLDEN_HEADER, ...events]
  const sha256 = createHash('sha256')
    .update(body.map((line) => `${line}\n`).join(''))
    .digest('hex')
  return { lines: [...body, JSON.stringify({ events: events.length, rows: 0, sha256 })], replaced }
}

function poisoned(value: unknown, replaced: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, replaced))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, item]) => {
    if (typeof item !== 'string' || !TEXTS.has(name)) return [name, poisoned(item, replaced)]
    replaced.add(name)
    // The database stores no NUL.
    return [name, `${item}${HOSTILE.replaceAll('\0', '')}`]
  })
  return Object.fromEntries(members)
}

function longId(_id: string, prefix: string, digits: string): string {
  return `${prefix}_00000000-0000-7000-8000-${digits.padStart(12, '0')}`
}
