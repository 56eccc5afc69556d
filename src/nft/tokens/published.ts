/**
 * Mints as public events: their request, the signature of a voucher, and what became of each of their transactions. An
 * event of a transaction shows the tokens that this transaction mints.
 */
import { Type } from '@sinclair/typebox'
import { type EventSource, type FirstEvent, published } from '../../capability.ts'
import { ID_PREFIXES } from '../../declarations.ts'
import { named } from '../../http/components.ts'
import { nullable } from '../../http/schemas.ts'
import { transactionFold } from '../../transactions/fold-view.ts'
import type { CollectionEvent } from '../collections/events.ts'
import type { Fate } from '../outcome.ts'
import { type OutcomeChange, outcomeChange, outcomeEvents, REQUESTED, subjectOf } from '../outcome-change.ts'
import { mintAggregate } from './mint-aggregate.ts'
import type { MintRecorded, MintToken } from './mint-events.ts'
import { mintSchema } from './mint-schemas.ts'
import type { MintView } from './mint-view.ts'

type Recorded = MintRecorded
type FirstOf = EventSource['firstOf']

const { mint_id, collection_id, minting_type, created_at, tokens, status, ...fields } = mintSchema.properties
const { transaction_id, transaction_hash, failure } = fields
const token = Type.Omit(tokens.items, ['edition', 'status', 'outcome', 'transaction_id', 'transaction_hash', 'failure'])
/** A mint as far as one of its transactions. What needs other transactions is missing: editions, and later owners. */
const schema = named(
  'NftMintAtEvent',
  Type.Object({
    mint_id,
    collection_id,
    minting_type,
    status: { ...status, description: 'The status of these tokens.' },
    transaction_id: { ...transaction_id, description: 'The transaction of the event. Null for a voucher.' },
    transaction_hash,
    failure,
    voucher_signature: nullable(
      Type.String({
        description: 'The signature of the voucher. Only in `nft.mint.voucher_signed`.',
        examples: [null],
      }),
    ),
    tokens: Type.Array(token, { description: 'The tokens that the transaction mints, in the order of the request.' }),
    created_at,
  }),
)

const STATUS = { done: 'MINTED', failed: 'FAILED', reorged: 'PENDING' } as const
const RESOURCE = { resource: 'nft.mint', scope: 'nft:read' } as const

export const publishedMints = [
  published(mintAggregate, {
    ...RESOURCE,
    types: {
      'nft.mint.requested': 'Tokens will be minted, or a voucher will be signed.',
      'nft.mint.voucher_signed': 'The voucher of a LAZY mint was signed: it can be redeemed.',
    },
    events: {
      MintRecorded: ['nft.mint.requested'],
      VoucherRequested: [],
      VoucherSigned: ['nft.mint.voucher_signed'],
      // Their transactions follow.
      VoucherRedemptionRequested: [],
      VoucherRevocationRecorded: [],
    },
    schema,
    related: ({ first }) => (first.type === 'MintRecorded' ? [collectionOf(first)] : []),
    render({ id, first, event, firstOf }, type) {
      if (first.type !== 'MintRecorded') return null
      const view = viewOf(first, { id, firstOf, tokens: first.data.tokens })
      if (view === null) return null
      const isLazy = first.data.mintingType === 'LAZY'
      const isSigned = type === 'nft.mint.voucher_signed'
      const data = {
        ...view,
        ...fateView(null, REQUESTED),
        status: isLazy ? ('LAZY' as const) : ('PENDING' as const),
        voucher_signature: isSigned && event.type === 'VoucherSigned' ? event.data.signature : null,
      }
      return { resourceId: id, data }
    },
  }),
  published(transactionFold, {
    ...RESOURCE,
    firstIndex: 1,
    subject: 'mint',
    mayConcern: (_transactionId, id) => id.startsWith(ID_PREFIXES.mint),
    types: {
      'nft.mint.minted': 'A transaction that mints tokens is in a block.',
      'nft.mint.revoked': 'The transaction that revokes the voucher of a LAZY mint is in a block.',
      'nft.mint.failed': 'A transaction that mints tokens failed. The voucher of a LAZY mint is not used.',
      'nft.mint.reorged': 'The block with a transaction of a mint left the chain.',
    },
    events: outcomeEvents({
      done: ['nft.mint.minted', 'nft.mint.revoked'],
      failed: ['nft.mint.failed'],
      reorged: ['nft.mint.reorged'],
    }),
    schema,
    related(source) {
      const stream = `mint-${subjectOf(source, 'mint')}`
      const recorded = source.firstOf(stream) as Recorded | undefined
      return recorded === undefined ? [stream] : [stream, collectionOf(recorded)]
    },
    render(source, type) {
      const changed = outcomeChange(source)
      const id = subjectOf(source, 'mint')
      const recorded = source.firstOf(`mint-${id}`) as Recorded | undefined
      if (changed === null || id === null || recorded === undefined) return null
      const revokes = source.first.type === 'VoucherRevocationRequested'
      // A revocation that fails changes nothing.
      if (
        type === 'nft.mint.failed' ? revokes : (type === 'nft.mint.revoked') !== (revokes && changed.change === 'done')
      )
        return null
      const isLazy = recorded.data.mintingType === 'LAZY'
      const own = recorded.data.tokens.filter(({ transactionId }) => isLazy || transactionId === source.id)
      const view = viewOf(recorded, { id, firstOf: source.firstOf, tokens: own })
      if (view === null || own.length === 0) return null
      const data = {
        ...view,
        ...fateView(source.id, changed.fate),
        status: statusOf(changed.change, { isLazy, revokes }),
      }
      return { resourceId: id, data }
    },
  }),
]

function statusOf(
  change: OutcomeChange,
  { isLazy, revokes }: { readonly isLazy: boolean; readonly revokes: boolean },
): MintView['status'] {
  if (revokes) return change === 'done' ? 'REVOKED' : 'LAZY'
  return isLazy && change === 'failed' ? 'LAZY' : STATUS[change]
}

function collectionOf({ data }: Recorded): string {
  return `collection-${data.collectionId}`
}

function fateView(transactionId: string | null, { hash, failure }: Fate) {
  return { transaction_id: transactionId, transaction_hash: hash, failure, voucher_signature: null }
}

/** Null without the collection, which every mint has. */
function viewOf(
  { data }: Recorded,
  of: { readonly id: string; readonly firstOf: FirstOf; readonly tokens: readonly MintToken[] },
) {
  const collection = of.firstOf(`collection-${data.collectionId}`) as FirstEvent<CollectionEvent> | undefined
  if (collection === undefined) return null
  const { baseUri } = collection.data
  return {
    mint_id: of.id,
    collection_id: data.collectionId,
    minting_type: data.mintingType,
    created_at: data.requestedAt,
    tokens: of.tokens.map(({ tokenId, recipient, amount, cid }) => ({
      token_id: tokenId,
      owner: recipient,
      metadata_uri: `${baseUri}${cid}`,
      amount,
    })),
  }
}
