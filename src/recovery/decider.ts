/**
 * When a wallet's key may be exported. Pure: allowed recipients, the hash of the sealed file and the time come with the
 * command.
 *
 * Invariant: an export ends once, exported or refused; a later command produces no event.
 */
import { Conflict, NotFound } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { ExportEvent, ExportRefusal, WalletExportRequested } from './events.ts'
import { type ExportState, evolve, type KnownExport, UNKNOWN_EXPORT } from './state.ts'

/** In milliseconds. A caller that waited longer is gone: no key is left for others to fetch. */
const REQUEST_HOLDS_MS = 15 * 60_000

export type ExportCommand =
  | { readonly type: 'RequestExport'; readonly request: WalletExportRequested['data'] }
  | { readonly type: 'RecordExport'; readonly sha256: string; readonly now: string; readonly expiresAt: string }
  | { readonly type: 'Refuse'; readonly refusal: ExportRefusal; readonly now: string }

export const exportDecider: Decider<ExportState, ExportCommand, ExportEvent> = {
  initialState: UNKNOWN_EXPORT,
  evolve,
  decide(command, state) {
    if (command.type === 'RequestExport') {
      if (state.status !== 'unknown') throw new Conflict('export_exists', 'An export with this id already exists.')
      return [{ type: 'WalletExportRequested', data: command.request }]
    }
    if (state.status === 'unknown') throw new NotFound('export')
    if (state.status !== 'requested') return []
    const { walletId, recipient } = state
    switch (command.type) {
      case 'RecordExport': {
        const { sha256: ciphertextSha256, now: exportedAt, expiresAt } = command
        return [{ type: 'WalletExported', data: { walletId, recipient, ciphertextSha256, exportedAt, expiresAt } }]
      }
      case 'Refuse': {
        const { refusal: code, now: refusedAt } = command
        return [{ type: 'WalletExportRefused', data: { walletId, recipient, code, refusedAt } }]
      }
      default:
        return assertNever(command)
    }
  },
}

/**
 * Why a signer must not serve a request, or `null` when it may.
 *
 * @param allowed recipients from the signer's own settings; `null` for any
 * @param now ISO 8601
 */
export function refusalOf(
  { recipient, requestedAt }: KnownExport,
  allowed: readonly string[] | null,
  now: string,
): ExportRefusal | null {
  if (!isAllowed(recipient, allowed)) return 'recipient_not_allowed'
  return Date.parse(now) - Date.parse(requestedAt) > REQUEST_HOLDS_MS ? 'request_expired' : null
}

/** Whether keys may be sealed to a recipient. @param allowed `null` for any */
export function isAllowed(recipient: string, allowed: readonly string[] | null): boolean {
  return allowed === null || allowed.includes(recipient)
}
