/**
 * Accepts a contract call: reads and simulates it, then records it as a transaction and holds what it takes, in one
 * append. A refused request leaves no trace.
 */

import { GAS_BOUNDS } from '../chain/forks.ts'
import { addressWord, uintWord } from '../chain/hex.ts'
import type { ContractCall } from '../chain/multicall.ts'
import { balanceRead } from '../chain/rehearsal.ts'
import { type Asset, nativeAsset } from '../core/assets.ts'
import { type CallerFields, pickCallerFields } from '../core/caller-fields.ts'
import { Conflict, Unavailable, ValidationFailed } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { smallest } from '../core/money.ts'
import type { Environment } from '../core/networks.ts'
import type { SpendLimit } from '../core/spend-limits.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accepted } from '../event-log/accept.ts'
import { GAS_MARGIN_PERCENT } from '../transactions/estimate-gas.ts'
import type { GasPriority } from '../transactions/intent.ts'
import type { TokenInTransfer } from '../transactions/managed-contracts.ts'
import { type CallToSend, prepareCall } from '../transactions/prepare-call.ts'
import { findPayer, type Requester } from '../transactions/prepare-transaction.ts'
import type { Sender } from '../transactions/send-context.ts'
import { type TransactionView, viewOf } from '../transactions/view.ts'
import type { CallContext } from './call-context.ts'
import { describeCall } from './describe-call.ts'
import { type CallFields, type DescribedCall, readCall } from './read-call.ts'
import { outflowsOf, type RehearsedCall, rehearseCall } from './rehearse-call.ts'
import { requireContract } from './require-contract.ts'
import { simulateCall } from './simulate-call.ts'

export type CallRequest = CallFields &
  CallerFields & {
    readonly walletId: string
    readonly gasLimit: bigint | null
    readonly gasPriority: GasPriority
  }

/**
 * @throws NotFound, PermissionDenied, ValidationFailed (the errors of `readCall`, `not_a_contract`, `view_function`,
 *   `call_reverts`, `watch_only`, `expired`), Conflict `managed_contract`, `token_in_transfer`, `wallet_archived` or
 *   `wallet_not_ready`, InsufficientFunds, IdempotencyKeyReused, ChainRefused, Unavailable
 */
export function requestCall(
  ctx: CallContext,
  request: CallRequest,
  metadata: Metadata,
  environment: Environment,
): Promise<Accepted<TransactionView>> {
  return ctx.accept(metadata, async (append) => {
    const owner = { tenantId: metadata.tenantId, environment }
    const sender = await findPayer(ctx, owner, request.walletId)
    const call = readCall(request, sender.address)
    requireWriting(call)
    await Promise.all([requireContract(ctx.chainOf(sender.chainId).code, call.to), requireUnmanaged(ctx, sender, call)])
    const [gasLimit, taken] = await Promise.all([
      gasOf(ctx, sender, call, request),
      takenBy(ctx, { ...owner, actor: metadata.actor }, sender, call),
    ])
    const {
      transactionId: id,
      decision,
      guards,
      explain,
    } = await prepareCall(
      ctx,
      { owner, walletId: sender.walletId, ...callToSend(request, { sender, call, ...taken, gasLimit }) },
      metadata,
    )
    return append({ id, commit: { decisions: [decision], guards }, explain, made: viewOf(decision) })
  })
}

/** ERC-1155, whose balances are by id: `safeTransferFrom`, `safeBatchTransferFrom`, `burn` and `burnBatch`. */
const MOVES_BY_ID = /^0x(f242432a|2eb2c2d6|f5298aca|6b20c454)/

function requireWriting({ called }: DescribedCall): void {
  if (called === null || (called.mutability !== 'view' && called.mutability !== 'pure')) return
  const rule = `mode must be read or simulate: ${called.signature} is a ${called.mutability} function, so a transaction would change nothing.`
  throw ValidationFailed.field('mode', 'view_function', rule)
}

async function requireUnmanaged(
  { isManagedCall }: CallContext,
  { chainId }: Sender,
  call: DescribedCall,
): Promise<void> {
  if (!(await isManagedCall(chainId, call))) return
  const rule =
    'contract_address is a contract that this service manages, and only its routes for NFTs make this call: use them, or mode read or simulate. Any holder can approve, transfer and burn tokens.'
  throw new Conflict('managed_contract', rule)
}

/** @throws ValidationFailed `call_reverts`, unless the caller states the gas: the state may change before it is signed */
async function gasOf(
  ctx: CallContext,
  sender: Sender,
  call: DescribedCall,
  { gasLimit }: CallRequest,
): Promise<bigint> {
  const { transaction: most } = await ctx.gasRules(sender.chainId)
  if (gasLimit !== null) {
    requireSendable(gasLimit, most)
    return gasLimit
  }
  const { foreign: client } = ctx.chainOf(sender.chainId)
  const simulation = await simulateCall(client, sender.address, call, { gas: most, estimates: true })
  if (simulation.outcome === 'insufficient_funds') return GAS_BOUNDS.unestimatedCall
  if (simulation.outcome === 'returned') return gasFor(simulation, most)
  const { error } = simulation
  const reason = error.reason ?? 'it returned no reason'
  const rule = `contract_address would revert now: ${reason}. Correct the call, or send gas_limit to have it simulated again before it is signed.`
  throw ValidationFailed.field('contract_address', 'call_reverts', rule, { revert: error })
}

/** What a call needs that returned, with a margin. */
export function gasFor({ gas }: { readonly gas: bigint | null }, most: bigint): bigint {
  return smallest(((gas ?? 0n) * GAS_MARGIN_PERCENT) / 100n, most)
}

/** @throws ValidationFailed `too_large` */
export function requireSendable(gasLimit: bigint, most: bigint): void {
  if (gasLimit <= most) return
  const rule = `gas_limit must be at most ${most}: the rules of the chain allow a transaction no more.`
  throw ValidationFailed.field('gas_limit', 'too_large', rule)
}

/** What the call takes, as far as its rehearsal shows. */
async function takenBy(ctx: CallContext, owner: Owner & Requester, sender: Sender, call: DescribedCall) {
  const [tokens, inTransfer, limits, isJudged] = await Promise.all([
    ctx.tokensOf(owner.tenantId, sender),
    ctx.tokensInTransfer(sender),
    ctx.limitsOf(owner.actor),
    ctx.isJudged(owner),
  ])
  const watched = watchedFor({ limits, isJudged }, call, sender)
  const rehearsed = await rehearseCall(ctx.chainOf(sender.chainId).foreign, sender.address, call, {
    native: nativeAsset(sender.network, sender.chainId),
    tokens,
    watched: [
      ...inTransfer.map((token) => holdingRead(token, sender.address)),
      ...inTransfer.map(mintedRead),
      ...watched,
    ],
  })
  requireUntouched(inTransfer, rehearsed)
  return { tokens, rehearsed, watched }
}

export type ReadyCall = {
  readonly sender: Sender
  readonly call: DescribedCall
  /** What `rehearsed` was asked about: tokens, and what `watchedFor` returned. */
  readonly tokens: readonly Asset[]
  readonly rehearsed: RehearsedCall | null
  readonly watched: readonly ContractCall[]
  readonly gasLimit: bigint
}

/** The transaction of a call: what its request opens is what its simulation is refused for. */
export function callToSend(
  request: CallRequest,
  { sender, call, tokens, rehearsed, watched, gasLimit }: ReadyCall,
): CallToSend {
  const uncounted = uncountedIn(call, rehearsed, tokens)
  return {
    kind: 'ContractCallRequested',
    to: call.to,
    data: call.data,
    value: call.value,
    call: describeCall(call, sender.address),
    outflows: outflowsOf(call, sender.address, tokens, rehearsed),
    isUnrehearsed: rehearsed === null || (watched.length > 0 && uncounted !== undefined),
    uncounted: watched.length === 0 ? undefined : uncounted,
    gasLimit,
    gasPriority: request.gasPriority,
    subject: null,
    ...pickCallerFields(request),
  }
}

/** What `uncountedIn` reads last. Without limits of amounts and policies nothing asks for it. */
export function watchedFor(
  { limits, isJudged }: { readonly limits: readonly SpendLimit[]; readonly isJudged: boolean },
  { to }: DescribedCall,
  { address }: Sender,
): ContractCall[] {
  return isJudged || limits.some(({ of }) => of !== 'transactions') ? [balanceRead(to, address)] : []
}

/**
 * What others can make fail in the rehearsal and succeed in a block is not known at all. Of a contract that is no known token, such as one
 * of NFTs or shares, the balance of the wallet shows whether the call takes any.
 */
function uncountedIn({ to, data }: DescribedCall, rehearsed: RehearsedCall | null, tokens: readonly Asset[]) {
  if (rehearsed === null) return 'The call fails in its rehearsal, so what it takes is not known.'
  const own = rehearsed.watched.at(-1)
  const takes = own != null && own.after < own.before && tokens.every(({ contract }) => contract !== to)
  return takes || MOVES_BY_ID.test(data) ? `The call takes what the wallet has of ${to}.` : undefined
}

/** Selectors of `ownerOf(uint256)` and `balanceOf(address,uint256)`. */
function holdingRead({ contract, standard, tokenId }: TokenInTransfer, wallet: string) {
  const data =
    standard === 'ERC721' ? `0x6352211e${uintWord(tokenId)}` : `0x00fdd58e${addressWord(wallet)}${uintWord(tokenId)}`
  return { target: contract, data }
}

/** `tokenDigest(uint256)`, which a token has from its mint on, burnt or not. */
function mintedRead({ contract, tokenId }: TokenInTransfer) {
  return { target: contract, data: `0x67208aff${uintWord(tokenId)}` }
}

function requireUntouched(inTransfer: readonly TokenInTransfer[], rehearsed: RehearsedCall | null): void {
  if (inTransfer.length > 0 && rehearsed === null)
    throw new Unavailable(
      'rpc_unavailable',
      'The call could not be rehearsed, and an NFT transfer of the wallet is open: try again when it is in a block.',
    )
  const watched = rehearsed?.watched ?? []
  for (const [index, { tokenId, transferId }] of inTransfer.entries()) {
    const holder = watched[index]
    // A token that was minted and has no holder before or after the call is burnt.
    const isTouched = holder == null ? watched[index + inTransfer.length] != null : holder.before !== holder.after
    if (!isTouched) continue
    const rule = `The call would move token ${tokenId}, which the transfer ${transferId} is sending: wait for that transfer.`
    throw new Conflict('token_in_transfer', rule, { transfer_id: transferId })
  }
}
