/**
 * The log as JSON Lines, so that any program can read it: a line that says what follows, a line for each event with every column of
 * it, what stands beside the log and an import needs, and a last line by which a file that lost its end, or a byte, is known.
 */
import { BursarError } from '../core/errors.ts'

export const EXPORT_FORMAT = 'bursar-log'
export const EXPORT_VERSION = 1

export type ExportHeader = {
  readonly format: typeof EXPORT_FORMAT
  readonly version: number
  /** False for a part of a log: no log can be made of it. */
  readonly whole: boolean
  readonly from: string | null
  readonly to: string | null
  readonly tenant: string | null
}

/** Numbers that JavaScript cannot hold are decimal digits in strings; the hash is hexadecimal. */
export type ExportedEvent = {
  readonly position: string
  readonly transaction_id: string
  readonly stream_id: string
  readonly stream_version: number
  readonly type: string
  readonly schema_version: number
  readonly data: unknown
  readonly metadata: unknown
  readonly recorded_at: string
  readonly hash: string
}

/** A row of a table that follows from no event. */
export type ExportedRow = { readonly table: string; readonly row: Readonly<Record<string, unknown>> }

export type ExportFooter = {
  readonly events: number
  readonly rows: number
  /** SHA-256, hex, of all the bytes before this line. */
  readonly sha256: string
}

/** The tables beside the log that a whole export carries. */
export const CARRIED_TABLES = ['chain_cursors', 'chain_blocks'] as const

/** The file is none, or not whole, or was changed. Nothing of it was kept. */
export class BadExport extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'bad_export'
}
