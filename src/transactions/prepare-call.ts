/**
 * Prepares a transaction that calls a contract. From then on it is handled like a transfer: the lane and the follower
 * manage its nonce, fees, replacement and reorgs.
 */

import { nativeAsset } from '../core/assets.ts'
import { type CallerFields, NO_CALLER_FIELDS, pickCallerFields } from '../core/caller-fields.ts'
import type { Metadata } from '../core/messages.ts'
import type { Opening, SubjectType } from '../core/registry.ts'
import type { Owner } from '../core/tenants.ts'
import type { AssetRef, CallRecord, GasPriority, Intent, IntentParts, Outflow, Subject } from './intent.ts'
import {
  completeIntent,
  findPayer,
  openTransaction,
  type PreparedTransaction,
  type Requester,
  requireFuture,
} from './prepare-transaction.ts'
import type { PrepareContext, Sender } from './send-context.ts'

/** The opening events with call data. */
export type CallKind = Exclude<Opening, 'TransferRequested' | 'NonceFillRequested'>

export type CallRequest = CallToSend & {
  readonly owner: Owner
  /** The wallet that sends and pays. */
  readonly walletId: string
  /** Its index among the transactions of this kind that the request opens; 0 by default. */
  readonly part?: number
}

export type CallToSend = Partial<CallerFields> & {
  readonly kind: CallKind
  /** The called contract, EIP-55. */
  readonly to: string
  /** `0x` and hex digits. */
  readonly data: string
  /** Wei sent with the call. */
  readonly value?: bigint
  /** Tokens that the call takes from the wallet: they are held until it is in a block. */
  readonly outflows?: readonly Outflow[]
  readonly isUnrehearsed?: boolean
  /** Why limits of amounts do not count what the call takes, a sentence. */
  readonly uncounted?: string | undefined
  /** For a contract call of the owner: what it does. */
  readonly call?: CallRecord
  /** Instead of `value`: what it sells, native or a token, base units, and what it records of that. */
  readonly sells?: { readonly asset: AssetRef; readonly amount: bigint; readonly parts: IntentParts }
  /**
   * Gas units held, and the minimum gas of the call. If the lane's estimate before signing plus a fifth is higher, that
   * is used.
   */
  readonly gasLimit: bigint
  readonly gasPriority?: GasPriority
  /**
   * A transaction that must have succeeded in a block first, such as the deployment of the contract: this one waits for
   * it in its lane, and fails unsigned with `dependency_failed` if that one ends otherwise. Name it even if it is
   * already mined: this prevents a node that lags behind its block from judging the call. It may be opened in the same
   * commit.
   */
  readonly dependsOn?: string | null
  readonly subject: (Subject & { readonly type: SubjectType }) | null
}

/**
 * Appends nothing: combine `decision` and `guards` with other decisions in one commit, and pass errors of the append to
 * `explain`. Several calls of one wallet may share a commit; they are signed in the order of preparation.
 *
 * @throws NotFound, PermissionDenied, Conflict `wallet_not_ready`, ValidationFailed (`watch_only`, `expired`),
 *   Unavailable. `explain` returns Conflict `wallet_archived` and InsufficientFunds, with the total that the commit
 *   needs of the wallet
 */
export async function prepareCall(
  ctx: PrepareContext,
  request: CallRequest,
  metadata: Metadata,
): Promise<PreparedTransaction> {
  const { owner, walletId, kind, part } = request
  const sender = await findPayer(ctx, owner, walletId)
  const now = ctx.log.now()
  requireFuture(request.validUntil ?? null, now)
  const requester = { ...owner, actor: metadata.actor, accepting: metadata }
  return openTransaction(ctx.newId, kind, await intentOfCall(ctx, request, requester, sender, now), metadata, part)
}

/**
 * The intent of a call at a time, with what the policy says and what it counts towards limits. For what is prepared, and for what
 * is only previewed.
 *
 * @throws Unavailable, KeyLimitReached, PolicyRefused
 */
export function intentOfCall(
  ctx: PrepareContext,
  request: CallToSend,
  requester: Requester,
  sender: Sender,
  now: string,
): Promise<Intent> {
  const { kind, to, data, gasLimit, subject, sells } = request
  const wanted = {
    opening: kind,
    to,
    asset: sells?.asset ?? nativeAsset(sender.network, sender.chainId),
    amount: sells?.amount ?? request.value ?? 0n,
    ...sells?.parts,
    data,
    ...(request.outflows?.length ? { outflows: request.outflows } : {}),
    ...(request.isUnrehearsed === true ? { isUnrehearsed: true } : {}),
    ...(request.call === undefined ? {} : { call: request.call }),
    gasLimit,
    uncounted: request.uncounted,
    gasPriority: request.gasPriority ?? 'medium',
    dependsOn: request.dependsOn ?? null,
    subject,
    ...pickCallerFields({ ...NO_CALLER_FIELDS, ...request }),
  }
  return completeIntent(ctx, requester, sender, wanted, now)
}
