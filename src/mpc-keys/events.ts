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
/**
 * A party says that another failed a check of its own. Nobody can prove it, and either may lie: the two sign no more together with
 * this key until its shares are refreshed.
 */
export type MpcPartyAccused = Event<
  'MpcPartyAccused',
  { party: number; epoch: number; accusedBy: number; reason: string; accusedAt: string }
>
/**
 * A party signs no more with this key until its shares are refreshed. Since there is `MpcPartyAccused`, as many parties as sign
 * together accused it, of which one at least is honest; in older logs it was the word of one.
 */
export type MpcPartyBanned = Event<
  'MpcPartyBanned',
  {
    party: number
    epoch: number
    /** The last party that accused it; `null` for the coordinator, in older logs. */
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
