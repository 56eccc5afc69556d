/**
 * The common part of every request for a transaction: payer, hold, and opening decision. It appends nothing, so that a
 * caller records its own decisions in the same commit.
 */

import { nativeAsset } from '../core/assets.ts'
import type { CallerFields } from '../core/caller-fields.ts'
import { Conflict, InsufficientFunds, ValidationFailed } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { formatAmount } from '../core/money.ts'
import type { NewId, Opening } from '../core/registry.ts'
import type { Owner } from '../core/tenants.ts'
import { type Decision, decideNew } from '../event-log/aggregate.ts'
import { type Guards, HoldRefused, LimitReached, WalletGuardRefused } from '../event-log/append.ts'
import { transactionAggregate } from './aggregate.ts'
import { quoteAt } from './gas-budget.ts'
import type { Intent, IntentParts } from './intent.ts'
import { limitRefusal, reservationsFor } from './limits.ts'
import { costOfNewAccount } from './new-account.ts'
import type { PrepareContext, Sender } from './send-context.ts'
import type { TransactionState } from './state.ts'

export type PreparedTransaction = {
  readonly transactionId: string
  /** Opens the transaction and holds its maximum cost. */
  readonly decision: Decision<TransactionState>
  /** Additional checks of the append: equal for all transactions of a wallet, so one commit takes many. */
  readonly guards: Pick<Guards, 'wallet'>
  /** Maps a refusal of the append to an error for the caller; returns any other error unchanged. */
  readonly explain: (error: unknown) => unknown
}

/** What to send, from the request. Amount in base units, gas in gas units. */
export type Wanted = Pick<
  Intent,
  | 'to'
  | 'asset'
  | 'amount'
  | 'data'
  | 'outflows'
  | 'isUnrehearsed'
  | 'call'
  | keyof IntentParts
  | 'dependsOn'
  | 'subject'
  | 'gasPriority'
  | keyof CallerFields
> & {
  readonly opening: Opening
  readonly gasLimit: bigint
  /** The part of it that creates the account of the recipient. */
  readonly newAccount?: bigint
  /** Why no limit counts what it does, a sentence: a key whose amounts are limited may not request it. */
  readonly uncounted?: string | undefined
}

/**
 * Who pays, and who asked for it: the `actor` of the metadata. `accepting`: the metadata of the request that is being accepted; missing
 * for what is only previewed.
 */
export type Requester = Pick<Owner, 'tenantId'> & Pick<Metadata, 'actor'> & { readonly accepting?: Metadata }

/** The wallet that sends and pays. @throws errors of `findSender`, ValidationFailed `watch_only` */
export async function findPayer(
  { findSender }: Pick<PrepareContext, 'findSender'>,
  owner: Owner,
  walletId: string,
): Promise<Sender> {
  const sender = await findSender(owner, walletId)
  if (sender.type !== 'watch') return sender
  throw ValidationFailed.field(
    'wallet_id',
    'watch_only',
    'A watch wallet has no key and cannot send: use an hd or mpc wallet.',
  )
}

/** @throws ValidationFailed `expired` */
export function requireFuture(validUntil: string | null, now: string, field = 'valid_until'): void {
  if (validUntil === null || validUntil > now) return
  throw ValidationFailed.field(
    field,
    'expired',
    `${field} is in the past (the time is ${now}): send a later time, or omit it.`,
  )
}

/**
 * The intent of a request at a time, with its maximum gas cost at the current fees reserved, what the policy says, and what it counts
 * towards limits.
 *
 * @throws Unavailable, KeyLimitReached, PolicyRefused
 */
export async function completeIntent(
  ctx: PrepareContext,
  { tenantId, ...asking }: Requester,
  sender: Sender,
  { opening, gasLimit, newAccount = 0n, uncounted, ...wanted }: Wanted,
  now: string,
): Promise<Intent> {
  const quote = quoteAt(await ctx.quoteOf(sender.chainId), wanted.gasPriority)
  const intent = {
    tenantId,
    walletId: sender.walletId,
    network: sender.network,
    environment: sender.environment,
    chainId: sender.chainId,
    from: sender.address,
    ...wanted,
    reserved: {
      gasLimit,
      maxFeePerGas: quote.maxFeePerGas,
      ...(newAccount === 0n ? {} : { newAccountGas: newAccount }),
    },
    quote,
    estimatedCompletionAt: new Date(Date.parse(now) + ctx.completionMs(sender.chainId)).toISOString(),
    requestedAt: now,
  }
  const ofKey = await reservationsFor(ctx, asking.actor, intent, uncounted)
  const { policy, reservations: ofPolicy = [] } = await ctx.judgeTransaction(opening, intent, asking)
  const reservations = ofPolicy.length === 0 ? ofKey : [...ofKey, ...ofPolicy]
  if (reservations.length > 0)
    return policy === undefined ? { ...intent, reservations } : { ...intent, reservations, policy }
  return policy === undefined ? intent : { ...intent, policy }
}

/**
 * The decision that opens a transaction, under a new id.
 *
 * @param part its index among the transactions of this type that the request opens: a repeated request gives the same
 */
export function openTransaction(
  newId: NewId,
  opening: Opening,
  wanted: Intent,
  metadata: Metadata,
  part = 0,
): PreparedTransaction {
  const transactionId = newId('transaction')
  const key = metadata.idempotency?.key
  const intent: Intent = { ...wanted, idempotency: key === undefined ? null : { key, part } }
  const command = { type: 'RequestTransaction', opening, intent } as const
  return {
    transactionId,
    decision: decideNew(transactionAggregate, transactionId, command, { metadata, now: intent.requestedAt }),
    guards: { wallet: { walletId: intent.walletId, require: 'active' } },
    explain: (error) => explainRefusal(error, [intent], { isTransfer: intent.data === null }),
  }
}

/**
 * Maps a refusal of an append to an error for the caller.
 *
 * @param intents what the commit opens, all of one wallet
 * @param isTransfer whether the request named the paying wallet and one amount
 */
export function explainRefusal(
  error: unknown,
  intents: readonly Intent[],
  { isTransfer }: { readonly isTransfer: boolean },
): unknown {
  const [first] = intents
  if (first === undefined) return error
  if (error instanceof WalletGuardRefused) {
    return new Conflict('wallet_archived', 'The wallet is archived: restore it to send from it.')
  }
  if (error instanceof LimitReached) return limitRefusal(error, intents)
  if (error instanceof HoldRefused) {
    const { network, chainId, walletId, from } = first
    const taken = intents.flatMap(({ asset, outflows = [] }) => [...outflows.map((outflow) => outflow.asset), asset])
    const native = nativeAsset(network, chainId)
    const short = [native, ...taken].find(({ assetId }) => assetId === error.assetId) ?? first.asset
    const shortfall = {
      asset: short.symbol,
      available: formatAmount(error.available, short.decimals),
      needed: formatAmount(error.needed, short.decimals),
    }
    const cause = intents.map(costOfNewAccount).find((one) => one !== null) ?? undefined
    return new InsufficientFunds(shortfall, isTransfer ? undefined : { walletId, address: from }, cause)
  }
  return error
}
