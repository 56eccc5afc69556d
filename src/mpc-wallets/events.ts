/** The events of a joint key. The log does not contain shares, only which of them are in force. */
import type { Event } from '../core/messages.ts'

/** Why shares are refreshed: on request, by schedule, or because a party lost its share. */
export const REFRESH_REASONS = ['requested', 'scheduled', 'recovery'] as const
export type RefreshReason = (typeof REFRESH_REASONS)[number]

/** From here on the shares of the parties under this key's id are in force: epoch 0. */
export type MpcKeyGenerated = Event<
  'MpcKeyGenerated',
  { publicKey: string; address: string; threshold: number; parties: readonly number[]; generatedAt: string }
>
/** In one append with the wallet's `WalletCreated`. Before that the key is in the pool. */
export type MpcKeyAssigned = Event<'MpcKeyAssigned', { walletId: string; tenantId: string; assignedAt: string }>
/** `party` lost its share, which is repaired; `null` unless the reason is recovery. */
export type MpcSharesRefreshRequested = Event<
  'MpcSharesRefreshRequested',
  { refreshId: string; reason: RefreshReason; party: number | null; requestedAt: string }
>
/** From here on only the shares prepared under `attemptId`, one attempt of the refresh, are in force. */
export type MpcSharesRefreshed = Event<
  'MpcSharesRefreshed',
  {
    epoch: number
    refreshId: string
    attemptId: string
    reason: RefreshReason
    party: number | null
    refreshedAt: string
  }
>
/** The refresh is given up: the shares do not change. */
export type MpcSharesRefreshFailed = Event<
  'MpcSharesRefreshFailed',
  { refreshId: string; code: string; message: string; failedAt: string }
>
/**
 * A party reports that another failed its check. It cannot be proven, and either may lie: the two no longer sign
 * together with this key until its shares are refreshed.
 */
export type MpcPartyAccused = Event<
  'MpcPartyAccused',
  { party: number; epoch: number; accusedBy: number; reason: string; accusedAt: string }
>
/**
 * A party no longer signs with this key until its shares are refreshed. Since `MpcPartyAccused` exists, this requires
 * as many accusers as the threshold, of which at least one is honest; in older logs one was enough.
 */
export type MpcPartyBanned = Event<
  'MpcPartyBanned',
  {
    party: number
    epoch: number
    /** The last accuser; `null` for the coordinator, in older logs. */
    reportedBy: number | null
    reason: string
    bannedAt: string
  }
>

export type MpcKeyEvent =
  | MpcKeyGenerated
  | MpcKeyAssigned
  | MpcSharesRefreshRequested
  | MpcSharesRefreshed
  | MpcSharesRefreshFailed
  | MpcPartyAccused
  | MpcPartyBanned
