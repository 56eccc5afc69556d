/** Mints and tokens in the form of the API. */
import type { View } from '../../http/view.ts'
import type { CollectionRow } from '../collections/read-collections.ts'
import { type Outcome, outcomeOf } from '../outcome.ts'
import type { Mint } from './mint-events.ts'
import type { mintSchema, tokenDetailSchema, tokenSchema } from './mint-schemas.ts'
import type { TokenRow } from './token-rows.ts'
import { voucherStatus } from './voucher-status.ts'
import { voucherOf } from './voucher-view.ts'

export type MintView = View<typeof mintSchema>
export type TokenView = View<typeof tokenSchema>
export type TokenDetailView = View<typeof tokenDetailSchema>
/** What a request made. */
export type MadeMint = {
  /** The minting transactions; none for a LAZY mint. */
  readonly transactionIds: readonly string[]
  readonly collection: CollectionRow
  /** The mint before its transactions are signed; `null` where only a read knows it. */
  readonly view: MintView | null
}

/** One token of a mint. */
type MintedToken = MintView['tokens'][number]
type TokenStatus = MintedToken['status']

const STATUS = { pending: 'PENDING', done: 'MINTED', failed: 'FAILED' } as const

function tokenStatus(row: TokenRow): TokenStatus {
  const redemption = fateOf(row.state, row.succeeded)
  if (row.minting_type !== 'LAZY') return STATUS[redemption ?? 'pending']
  const revocation = fateOf(row.revocation_state, row.revocation_succeeded)
  return voucherStatus({ used: row.used_as ?? (row.holder === null ? null : 'minted'), redemption, revocation })
}

/** `null` when there is no transaction. */
function fateOf(state: string | null, succeeded: boolean | null): Outcome | null {
  return state === null ? null : outcomeOf({ state, succeeded })
}

/** Who got the token, or shall get it, and by which transaction. */
type Made = Pick<MintedToken, 'owner' | 'transaction_id' | 'transaction_hash' | 'failure'>

function madeBy(row: TokenRow, status: TokenStatus): Made {
  const requested = { transaction_id: row.transaction_id, transaction_hash: row.hash, failure: row.failure }
  if (row.minting_type !== 'LAZY' || status === 'PENDING') return { ...requested, owner: row.recipient }
  if (status !== 'MINTED') return { ...requested, owner: row.named }
  // What the contract logged, whoever sent the transaction.
  if (row.used_as !== null) {
    const { used_by: owner, used_transaction_id: transaction_id, used_hash: transaction_hash } = row
    return { owner, transaction_id, transaction_hash, failure: null }
  }
  const isOwn = fateOf(row.state, row.succeeded) === 'done'
  return { ...requested, owner: isOwn ? row.recipient : (row.holder ?? row.named) }
}

/** Whether a minted token went to whom the request named; otherwise a holder of its voucher redeemed it. */
function mintedAs(row: TokenRow, status: TokenStatus, owner: string | null): MintedToken['outcome'] {
  if (status !== 'MINTED') return null
  return owner !== null && owner === row.recipient ? 'AS_REQUESTED' : 'BY_HOLDER'
}

/**
 * Tokens with their editions.
 *
 * @param rows of one collection, consecutive, lowest id first
 * @param before the number of tokens of the collection before the first one, without failed ones
 */
export function toTokens(rows: readonly TokenRow[], before: number): readonly TokenView[] {
  let ordinal = before
  return rows.map((row) => {
    const status = tokenStatus(row)
    if (status !== 'FAILED') ordinal += 1
    const { owner, transaction_id, transaction_hash, failure } = madeBy(row, status)
    return {
      token_id: row.token_id,
      transaction_hash,
      owner,
      metadata_uri: `${row.base_uri}${row.cid}`,
      status,
      outcome: mintedAs(row, status, owner),
      amount: row.amount,
      edition: row.collection_type === 'SERIES' && status !== 'FAILED' ? ordinal : null,
      transaction_id,
      failure,
      collection_id: row.collection_id,
      mint_id: row.mint_id,
      created_at: row.created_at.toISOString(),
    }
  })
}

/**
 * A single token: once it is minted, its owner is the current holder, not the first recipient.
 *
 * @param holders according to the chain
 */
export function withHolder<Token extends MintedToken>(
  token: Token,
  holders: readonly { readonly owner: string }[],
): Token {
  if (token.status !== 'MINTED') return token
  const [only, other] = holders
  return { ...token, owner: only === undefined || other !== undefined ? null : only.owner }
}

/**
 * @param tokens of one mint, at least one
 * @param row of the first one
 */
export function toMint(tokens: readonly TokenView[], row: TokenRow): MintView {
  const [first] = tokens
  if (first === undefined) throw new Error('a mint must have at least one token')
  const { collection_id, mint_id, created_at } = first
  const own = tokens.map(({ collection_id: _, mint_id: __, created_at: ___, ...token }) => token)
  const status = statusOf(tokens.map((token) => token.status))
  const failure = tokens.find((token) => token.failure !== null)?.failure ?? null
  return {
    ...(own[0] ?? first),
    status,
    failure,
    mint_id,
    collection_id,
    minting_type: row.minting_type,
    voucher: voucherOf(row),
    created_at,
    tokens: own,
  }
}

/**
 * A mint that was just recorded, as a read returns it before its transactions are signed.
 *
 * @returns `null` for a SERIES, whose editions depend on other tokens, and for a LAZY mint
 */
export function recordedMint(collection: CollectionRow, mintId: string, mint: Mint): MintView | null {
  if (collection.collection_type === 'SERIES' || mint.mintingType === 'LAZY') return null
  const rows = mint.tokens.map((token) => recordedToken(collection, mintId, mint, token))
  const [first] = rows
  return first === undefined ? null : toMint(toTokens(rows, 0), first)
}

function recordedToken(
  collection: CollectionRow,
  mintId: string,
  mint: Mint,
  { tokenId, transactionId, recipient, amount, cid }: Mint['tokens'][number],
): TokenRow {
  return {
    tenant_id: mint.tenantId,
    environment: collection.environment,
    token_id: tokenId,
    collection_id: collection.collection_id,
    mint_id: mintId,
    minting_type: mint.mintingType,
    collection_type: collection.collection_type,
    base_uri: collection.base_uri,
    recipient,
    amount,
    cid,
    minted_cid: cid,
    chain_id: collection.chain_id,
    contract_address: collection.contract_address,
    created_at: new Date(mint.requestedAt),
    transaction_id: transactionId,
    state: 'requested',
    succeeded: null,
    hash: null,
    failure: null,
    named: null,
    valid_until: null,
    signature: null,
    revocation_id: null,
    revocation_state: null,
    revocation_succeeded: null,
    revocation_hash: null,
    used_as: null,
    used_by: null,
    used_hash: null,
    used_transaction_id: null,
    holder: null,
  }
}

/** PENDING until the outcome of each is known; FAILED when one failed, whatever the outcome of the others. */
function statusOf(statuses: readonly TokenStatus[]): TokenStatus {
  return (['PENDING', 'FAILED', 'REVOKED', 'LAZY'] as const).find((status) => statuses.includes(status)) ?? 'MINTED'
}
