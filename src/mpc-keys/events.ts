/** The facts of a joint key's life. Of the shares themselves the log has nothing: only which of them count. */
import type { Event } from '../core/messages.ts'

/** Why shares are made anew: somebody asked, it was time, or a party had lost its share. */
export const REFRESH_REASONS = ['requested', 'scheduled', 'recovery'] as const
export type RefreshReason = (typeof REFRESH_REASONS)[number]

/** From here on the shares that the parties hold under this key's id count: epoch 0. */
export type MpcKeyGenerated = Event<
  'MpcKeyGenerated',
  { publicKey: string; address: string; threshold: number; parties: readonly number[]; generatedAt: string }
>
/** In one append with the wallet's `WalletCreated`. Until then the key lies in the pool. */
export type MpcKeyAssigned = Event<'MpcKeyAssigned', { walletId: string; tenantId: string; assignedAt: string }>
/** `party` has lost its share, and gets it repaired; `null` unless the reason is recovery. */
export type MpcSharesRefreshRequested = Event<
  'MpcSharesRefreshRequested',
  { refreshId: string; reason: RefreshReason; party: number | null; requestedAt: string }
>
/** From here on the shares count that were prepared under `attemptId`, one of the attempts of the refresh, and no others. */
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
/** The refresh is given up: the shares stay as they are. */
export type MpcSharesRefreshFailed = Event<
  'MpcSharesRefreshFailed',
  { refreshId: string; code: string; message: string; failedAt: string }
>
/** A party failed a check of the others and signs no more with this key until its shares are refreshed. */
export type MpcPartyBanned = Event<
  'MpcPartyBanned',
  {
    party: number
    epoch: number
    /** The party that saw it; `null` for the coordinator. */
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
  | MpcPartyBanned
