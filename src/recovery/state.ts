/** The state of an export: the fold of its events. `evolve` accepts every known event in every state. */
import { assertNever } from '../core/never.ts'
import type { ExportEvent, ExportRefusal, WalletExportRequested } from './events.ts'

export const EXPORT_STATUSES = ['requested', 'exported', 'refused'] as const
export type ExportStatus = (typeof EXPORT_STATUSES)[number]

export type KnownExport = WalletExportRequested['data'] & {
  readonly status: ExportStatus
  /** SHA-256, hex, of the armored age file; `null` until it exists. */
  readonly sha256: string | null
  readonly exportedAt: string | null
  /** When the age file is deleted. */
  readonly expiresAt: string | null
  readonly refusal: ExportRefusal | null
}

export type ExportState = { readonly status: 'unknown' } | KnownExport

export const UNKNOWN_EXPORT: ExportState = { status: 'unknown' }

export function evolve(before: ExportState, event: ExportEvent): ExportState {
  if (event.type === 'WalletExportRequested')
    return { ...event.data, status: 'requested', sha256: null, exportedAt: null, expiresAt: null, refusal: null }
  if (before.status === 'unknown') return before
  switch (event.type) {
    case 'WalletExported': {
      const { ciphertextSha256: sha256, exportedAt, expiresAt } = event.data
      return { ...before, status: 'exported', sha256, exportedAt, expiresAt }
    }
    case 'WalletExportRefused':
      return { ...before, status: 'refused', refusal: event.data.code }
    default:
      return assertNever(event)
  }
}
