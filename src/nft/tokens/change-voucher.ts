/**
 * Redeems and revokes vouchers: each is a transaction of the collection's owner wallet, recorded in one append with its
 * event of the mint. A refused request leaves no trace.
 */
import { parseRecipient } from '../../chain/address.ts'
import type { GasRules } from '../../chain/forks.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Environment } from '../../core/networks.ts'
import type { Owner } from '../../core/tenants.ts'
import type { Accepted, AppendPrepared } from '../../event-log/accept.ts'
import { type Loaded, mustDecideOn } from '../../event-log/aggregate.ts'
import { type CallRequest, prepareCall } from '../../transactions/prepare-call.ts'
import type { CollectionRow } from '../collections/read-collections.ts'
import { encodeMint, encodeRevoke } from '../contracts/encode-calls.ts'
import { mintGas } from '../contracts/gas.ts'
import { NFT_GAS } from '../contracts/gas-rules.ts'
import { digestOf } from '../metadata/cid.ts'
import type { NftContext } from '../nft-context.ts'
import { mintAggregate } from './mint-aggregate.ts'
import {
  type LazyMint,
  requireLazy,
  requireRedeemable,
  requireUnused,
  type VoucherCommand,
  type VoucherFacts,
} from './mint-decider.ts'
import type { MintState } from './mint-state.ts'
import { readVoucherFacts } from './voucher-facts.ts'

/** The mint whose voucher changes. */
export type Target = { readonly environment: Environment; readonly mintId: string; readonly metadata: Metadata }

/** The call of a transaction, and the command that records it. */
type Plan = {
  readonly call: Pick<CallRequest, 'kind' | 'data' | 'gasLimit' | 'validUntil'>
  readonly command: (transactionId: string, now: string) => VoucherCommand
}

type Planner = (mint: LazyMint, collection: CollectionRow, facts: VoucherFacts, rules: GasRules) => Plan

/**
 * Accepts a transaction.
 *
 * @param recipient `null` for the voucher's recipient
 * @throws NotFound, PermissionDenied, Conflict (`not_lazy`, `already_redeemed`, `voucher_revoked`, `voucher_expired`,
 *   `voucher_not_signed`, `wallet_archived`), ValidationFailed (`required`, `recipient_mismatch`, an address),
 *   InsufficientFunds, IdempotencyKeyReused, Unavailable
 */
export async function redeemVoucher(ctx: NftContext, target: Target, recipient: string | null): Promise<Accepted> {
  const to = recipient === null ? null : parseRecipient(recipient, 'recipient')
  return perform(ctx, target, (mint, collection, facts, rules) =>
    planRedemption(mint, collection, facts, { wanted: to, now: ctx.log.now(), rules }),
  )
}

/** Accepts one that revokes the token id on chain. @throws errors of `redeemVoucher`, except those about the recipient and the time */
export function revokeVoucher(ctx: NftContext, target: Target): Promise<Accepted> {
  return perform(ctx, target, planRevocation)
}

function perform(ctx: NftContext, target: Target, planner: Planner): Promise<Accepted> {
  return ctx.accept(target.metadata, (append) => tryPerform(ctx, target, planner, append), { replayFirst: true })
}

async function tryPerform(
  ctx: NftContext,
  target: Target,
  planner: Planner,
  append: AppendPrepared,
): Promise<Accepted> {
  const { log, collections, pool } = ctx
  const { environment, mintId, metadata } = target
  const owner: Owner = { tenantId: metadata.tenantId, environment }
  const loaded: Loaded<MintState> = await log.load(mintAggregate, mintId)
  // Another tenant's mint does not even reveal its type.
  const known = loaded.state.state === 'recorded' && loaded.state.mint.tenantId === owner.tenantId
  const mint = requireLazy(known ? loaded.state : mintAggregate.initialState)
  const collection = await collections.read(owner, mint.mint.collectionId)
  const { call, command } = planner(
    mint,
    collection,
    await readVoucherFacts(pool, mintId),
    await ctx.gasRules(collection.chain_id),
  )
  const request = {
    ...call,
    owner,
    walletId: collection.wallet_id,
    to: collection.contract_address,
    dependsOn: collection.transaction_id,
    subject: { type: 'mint', id: mintId },
  } as const
  const prepared = await prepareCall(ctx, request, metadata)
  const { transactionId: id, guards, explain } = prepared
  const now = log.now()
  const recorded = mustDecideOn(mintAggregate, loaded, command(id, now), { metadata, now })
  return append({ id, commit: { decisions: [prepared.decision, recorded], guards }, explain, made: null })
}

/**
 * A mint by the owner, which uses the id, and not a call that shows the signature: whoever saw an open voucher in a
 * mempool could redeem it first.
 */
function planRedemption(
  mint: LazyMint,
  { standard, collection_type: kind }: CollectionRow,
  facts: VoucherFacts,
  { wanted, now, rules }: { readonly wanted: string | null; readonly now: string; readonly rules: GasRules },
): Plan {
  const recipient = requireRedeemable(mint, wanted, facts, now)
  const { tokenId, amount, cid } = onlyToken(mint)
  return {
    call: {
      kind: 'MintRequested',
      data: encodeMint(standard, BigInt(tokenId), { recipient, amount: BigInt(amount), digest: digestOf(cid) }),
      gasLimit: mintGas(rules, standard, kind, 1),
      validUntil: mint.voucher.validUntil,
    },
    command: (transactionId, now) => ({ type: 'RequestRedemption', recipient, transactionId, facts, now }),
  }
}

function planRevocation(mint: LazyMint, _collection: CollectionRow, facts: VoucherFacts, { set }: GasRules): Plan {
  requireUnused(facts)
  return {
    call: {
      kind: 'VoucherRevocationRequested',
      data: encodeRevoke(BigInt(onlyToken(mint).tokenId)),
      gasLimit: NFT_GAS[set].revoke,
    },
    command: (transactionId, now) => ({ type: 'RequestRevocation', transactionId, facts, now }),
  }
}

function onlyToken({ mint }: LazyMint) {
  const [token] = mint.tokens
  if (token === undefined) throw new Error('a LAZY mint has exactly one token')
  return token
}
