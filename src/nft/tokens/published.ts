/**
 * Mints as public events: their request, the signature and the use of a voucher, and what became of each of their transactions.
 * An event of a transaction shows the tokens that this transaction mints.
 */
import { Type } from '@sinclair/typebox'
import { type EventSource, type FirstEvent, published } from '../../capability.ts'
import { named } from '../../http/components.ts'
import { nullable } from '../../http/schemas.ts'
import { transactionFold } from '../../transactions/fold-view.ts'
import type { CollectionEvent } from '../collections/events.ts'
import { nft } from '../declaration.ts'
import { outcomeChange, outcomeEvents, subjectOf } from '../outcome-change.ts'
import { mintAggregate } from './mint-aggregate.ts'
import type { MintEvent, MintRecorded, MintToken } from './mint-events.ts'
import { mintSchema } from './mint-schemas.ts'
import { fateView, isToldByVoucher, statusOf, toldBy, transactionsOf } from './published-voucher.ts'

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

const RESOURCE = { resource: 'nft.mint', scope: 'nft:read' } as const
const TYPES = {
  'nft.mint.minted': 'Tokens were minted in a block. The voucher of a LAZY mint can be redeemed by anybody who has it.',
  'nft.mint.revoked': 'The token id of the voucher of a LAZY mint was revoked in a block.',
  'nft.mint.failed': 'A transaction that mints tokens failed. The voucher of a LAZY mint is not used.',
  'nft.mint.reorged': 'The block with a transaction of a mint left the chain.',
} as const

export const publishedMints = [
  published(mintAggregate, {
    ...RESOURCE,
    types: {
      'nft.mint.requested': 'Tokens will be minted, or a voucher will be signed.',
      'nft.mint.voucher_signed': 'The voucher of a LAZY mint was signed: it can be redeemed.',
      ...TYPES,
    },
    repeats: Object.keys(TYPES) as (keyof typeof TYPES)[],
    events: {
      MintRecorded: ['nft.mint.requested'],
      VoucherRequested: [],
      VoucherSigned: ['nft.mint.voucher_signed'],
      // Their transactions follow.
      VoucherRedemptionRequested: [],
      VoucherRevocationRecorded: [],
      VoucherUsed: ['nft.mint.minted', 'nft.mint.revoked'],
      VoucherUseReorged: ['nft.mint.reorged'],
    },
    schema,
    related: ({ first }) => (first.type === 'MintRecorded' ? [collectionOf(first)] : []),
    earlier: ({ event, after }) => (event.type === 'VoucherUseReorged' ? transactionsOf(after) : []),
    render(source, type) {
      const { id, first, event, firstOf } = source
      if (first.type !== 'MintRecorded') return null
      if (event.type === 'VoucherUsed' && (type === 'nft.mint.minted') !== (event.data.as === 'minted')) return null
      const told = toldBy(source)
      const { owner } = told
      const tokens = first.data.tokens.map((one) => (owner === null ? one : { ...one, recipient: owner }))
      const view = viewOf(first, { id, firstOf, tokens })
      return view === null ? null : { resourceId: id, data: { ...view, ...told.fields } }
    },
  }),
  published(transactionFold, {
    ...RESOURCE,
    firstIndex: 1,
    subject: 'mint',
    mayConcern: (_transactionId, id) => id.startsWith(nft.ids.mint),
    types: TYPES,
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
    earlier(source) {
      const stream = `mint-${subjectOf(source, 'mint')}`
      const recorded = source.firstOf(stream) as Recorded | undefined
      return recorded?.data.mintingType === 'LAZY' && outcomeChange(source) !== null ? [stream] : []
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
      if (isLazy && isToldByVoucher(source, source.earlierOf(`mint-${id}`) as readonly MintEvent[])) return null
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

function collectionOf({ data }: Recorded): string {
  return `collection-${data.collectionId}`
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
