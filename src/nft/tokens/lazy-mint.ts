/** Records a LAZY mint with the request to sign its voucher. Nothing is sent to the chain. */
import { Conflict } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import { policyLimitOf, type Reserving } from '../../core/policy-limit.ts'
import type { Accepted, AppendPrepared } from '../../event-log/accept.ts'
import { decideNew } from '../../event-log/aggregate.ts'
import { LimitReached, WalletGuardRefused } from '../../event-log/append.ts'
import type { CollectionRow } from '../collections/read-collections.ts'
import type { NftContext } from '../nft-context.ts'
import { mintAggregate } from './mint-aggregate.ts'
import type { Mint } from './mint-events.ts'
import type { MadeMint } from './mint-view.ts'
import type { MintItem } from './read-items.ts'

export type LazyMintRequest = {
  readonly collection: CollectionRow
  readonly item: MintItem
  readonly tokenId: number
  /** ISO 8601, in the future; truncated to whole seconds, as the contract counts. */
  readonly validUntil: string | null
  readonly metadata: Metadata
}

/**
 * @throws Conflict `wallet_archived`; PolicyRefused; IdempotencyKeyReused; UniqueRuleBroken when the token id was assigned to another
 *   mint
 */
export async function recordLazyMint(
  { log, newId, judge }: NftContext,
  { collection, item, tokenId, validUntil, metadata }: LazyMintRequest,
  append: AppendPrepared,
): Promise<Accepted<MadeMint>> {
  const mintId = newId('mint')
  const requestedAt = log.now()
  const { recipient, amount, metadata: published, content } = item
  const { cid } = content
  const token = { tokenId: String(tokenId), recipient, amount: amount.toString(), metadata: published, cid }
  const mint: Mint = {
    tenantId: metadata.tenantId,
    collectionId: collection.collection_id,
    mintingType: 'LAZY',
    tokens: [{ ...token, transactionId: null }],
    requestedAt,
  }
  const { tenantId, actor } = metadata
  const { environment, network } = collection
  const place = {
    walletId: collection.wallet_id,
    chainId: collection.chain_id,
    contract: collection.contract_address,
  }
  const asked = { tenantId, environment, network, ...place, recipient, requestedAt }
  const judged = await judge.voucher(asked, { actor, accepting: metadata })
  const voucher = {
    ...place,
    ...judged,
    validUntil: validUntil === null ? null : wholeSecond(validUntil),
    requestedAt,
  }
  const command = { type: 'RecordMint', mint, voucher } as const
  const decisions = [decideNew(mintAggregate, mintId, command, { metadata, now: requestedAt })]
  const guards = { wallet: { walletId: collection.wallet_id, require: 'active' } } as const
  return append({
    id: mintId,
    commit: { decisions, guards },
    explain: (refusal) => explainRefusal(refusal, { environment, walletId: collection.wallet_id, ...judged }),
    made: { transactionIds: [], collection, view: null },
  })
}

function explainRefusal(refusal: unknown, requested: Reserving): unknown {
  if (refusal instanceof LimitReached) return policyLimitOf(refusal, [requested]) ?? refusal
  if (!(refusal instanceof WalletGuardRefused)) return refusal
  return new Conflict('wallet_archived', 'The wallet of the collection is archived: restore it first.')
}

function wholeSecond(instant: string): string {
  return new Date(Math.floor(Date.parse(instant) / 1_000) * 1_000).toISOString()
}
