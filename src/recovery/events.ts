/**
 * The events of an export: a wallet's key was exported, sealed to an age recipient. They contain neither the key nor
 * the sealed file.
 */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { PolicyPart } from '../core/policy-part.ts'
import type { Reservation } from '../core/spend-limits.ts'

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
    /** The policy that judged it; missing where none was in force, and in older events. */
    policy?: PolicyPart
    /** What it counts towards limits of the policy, whatever becomes of it. */
    reservations?: readonly Reservation[]
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
