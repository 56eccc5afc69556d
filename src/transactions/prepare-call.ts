/**
 * Prepares a transaction that calls a contract. It is a transaction like a transfer from there on: its nonce, fees,
 * replacement and reorgs are the lane's and the follower's.
 */
import { nativeAsset } from '../core/assets.ts'
import type { Metadata } from '../core/messages.ts'
import type { GasPriority, Opening, Subject } from './events.ts'
import {
  completeIntent,
  findPayer,
  type Owner,
  openTransaction,
  type PreparedTransaction,
  type PreparePorts,
  requireFuture,
} from './prepare-transaction.ts'

/** The openings that carry call data. */
export type CallKind = Exclude<Opening, 'TransferRequested' | 'NonceFillRequested'>

export type CallRequest = {
  readonly owner: Owner
  /** The wallet that sends and pays. */
  readonly walletId: string
  readonly kind: CallKind
  /** The contract that is called, EIP-55. */
  readonly to: string
  /** `0x` and hex digits. */
  readonly data: string
  /** Wei that go with the call. */
  readonly value?: bigint
  /**
   * Gas units that are held back and that the call gets at least. What the lane estimates before it signs, and a fifth,
   * is taken where it is more.
   */
  readonly gasLimit: bigint
  readonly gasPriority?: GasPriority
  /**
   * A transaction that must have succeeded in a block first, such as the deployment of the contract: this one waits for it
   * in its lane, and fails unsigned with `dependency_failed` when that one ends otherwise. Named even when it is mined
   * already, it keeps a node that lags behind its block from judging the call. It may be opened in the same commit.
   */
  readonly dependsOn?: string | null
  readonly subject: Subject | null
  readonly referenceId?: string | null
  readonly memo?: string | null
  readonly validUntil?: string | null
}

/**
 * Appends nothing: combine `change` and `guards` with your own in one commit, and tell what the append throws through
 * `explain`. Several calls of one wallet may stand in one commit; they are signed in the order of their preparation.
 *
 * @throws NotFound, PermissionDenied, Conflict `wallet_not_ready`, ValidationFailed (`watch_only`, `expired`), Unavailable.
 *   `explain` gives Conflict `wallet_archived` and InsufficientFunds, with what the whole commit needs of the wallet
 */
export async function prepareCall(
  ports: PreparePorts,
  request: CallRequest,
  metadata: Metadata,
): Promise<PreparedTransaction> {
  const { owner, walletId, kind, to, data, gasLimit, subject } = request
  const sender = await findPayer(ports, owner, walletId)
  const now = ports.log.now()
  const validUntil = request.validUntil ?? null
  requireFuture(validUntil, now)
  const wanted = {
    to,
    asset: nativeAsset(sender.network, sender.chainId),
    amount: request.value ?? 0n,
    data,
    gasLimit,
    gasPriority: request.gasPriority ?? 'medium',
    dependsOn: request.dependsOn ?? null,
    subject,
    referenceId: request.referenceId ?? null,
    memo: request.memo ?? null,
    validUntil,
  }
  return openTransaction(ports.newId, kind, await completeIntent(ports, owner, sender, wanted, now), metadata)
}
