/**
 * The events of an export: a wallet's key was exported, sealed to an age recipient. They contain neither the key nor
 * the sealed file.
 */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

/** Why a signer refuses to export the key of an accepted request. */
export const EXPORT_REFUSALS = ['recipient_not_allowed', 'request_expired'] as const
export type ExportRefusal = (typeof EXPORT_REFUSALS)[number]

export type WalletExportRequested = Event<
  'WalletExportRequested',
  {
    tenantId: string
    walletId: string
    environment: Environment
    /** An age X25519 recipient (`age1…`): public. */
    recipient: string
    requestedAt: string
  }
>
/** The hash of the armored age file: a file's holder can prove which export it came from. */
export type WalletExported = Event<
  'WalletExported',
  { walletId: string; recipient: string; ciphertextSha256: string; exportedAt: string; expiresAt: string }
>
export type WalletExportRefused = Event<
  'WalletExportRefused',
  { walletId: string; recipient: string; code: ExportRefusal; refusedAt: string }
>

export type ExportEvent = WalletExportRequested | WalletExported | WalletExportRefused
