/**
 * The log as JSON Lines, readable by any program: a header line, one line for each event with all its columns, the rows
 * beside the log that an import needs, and a last line that detects truncation and changed bytes.
 */
import { BursarError } from '../core/errors.ts'

export const EXPORT_FORMAT = 'bursar-log'
export const EXPORT_VERSION = 1

export type ExportHeader = {
  readonly format: typeof EXPORT_FORMAT
  readonly version: number
  /** False for part of a log: it cannot be imported. */
  readonly whole: boolean
  readonly from: string | null
  readonly to: string | null
  readonly tenant: string | null
}

/** Numbers beyond JavaScript's safe range are decimal digits in strings; the hash is hexadecimal. */
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

/** A row of a table that is not derived from events. */
export type ExportedRow = { readonly table: string; readonly row: Readonly<Record<string, unknown>> }

export type ExportFooter = {
  readonly events: number
  readonly rows: number
  /** SHA-256, hex, of all bytes before this line. */
  readonly sha256: string
}

/** The tables beside the log that a full export includes. */
export const CARRIED_TABLES = ['chain_cursors', 'chain_blocks'] as const

/** The file is not an export, is incomplete, or was changed. Nothing of it was imported. */
export class BadExport extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'bad_export'
}
