/** Minting, and reading mints and tokens: parse, call, reply. */
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { ValidationFailed } from '../../core/errors.ts'
import type { FindReplay } from '../../event-log/find-replay.ts'
import { MINT_BODY } from '../../http/body-limits.ts'
import { success, successOf } from '../../http/envelope.ts'
import { markReplayed } from '../../http/idempotency.ts'
import { decodeCursor, pageOf, pageQuery } from '../../http/paging.ts'
import { applyPreference, preferenceOf } from '../../http/prefer.ts'
import type { Routes } from '../../http/request.ts'
import { metadataOf } from '../../http/request-metadata.ts'
import { closedObject } from '../../http/schemas.ts'
import type { Owner } from '../../transactions/prepare-transaction.ts'
import type { TransactionReads } from '../../transactions/read-transactions.ts'
import type { CollectionReads } from '../collections/read-collections.ts'
import { MINED_WAIT_MS } from '../collections/routes.ts'
import { collectionParams } from '../collections/schemas.ts'
import type { OwnersOf } from '../ownership/owners-of.ts'
import type { UntilVoucherSigned } from '../vouchers/wait-for-signature.ts'
import type { AcceptedMint, MintRequest, MintTokens } from './mint-tokens.ts'
import type { MintReads } from './read-mints.ts'
import { readToken } from './read-token.ts'
import {
  acceptedMintSchema,
  mintBody,
  mintParams,
  mintSchema,
  tokenDetailSchema,
  tokenPageSchema,
  tokenParams,
} from './schemas.ts'
import { type MintView, type TokenView, withHolder } from './view.ts'
import type { WarnOfRecipients } from './warn-of-recipients.ts'

export type MintRoutePorts = {
  readonly mintTokens: MintTokens
  readonly findReplay: FindReplay
  readonly reads: MintReads
  readonly collections: CollectionReads
  readonly untilMined: TransactionReads['untilMined']
  readonly untilVoucherSigned: UntilVoucherSigned
  /** How long an answer waits for a voucher's signature when the caller does not say. */
  readonly signWaitMs: number
  readonly warnOfRecipients: WarnOfRecipients
  readonly ownersOf: OwnersOf
}

const tags = ['NFT']

const mint = {
  tags,
  summary: 'Mint',
  description:
    'Mints into a collection of yours. The service gives each token its number. Once this has answered, the mint is recorded ' +
    'for ever and each token is minted at most once, whatever happens. A BATCH is one transaction where its gas allows, and ' +
    'several otherwise: `tokens` tells the fate of each. LAZY ' +
    'sends nothing and costs no gas: the answer has a signed `voucher`. Of a BATCH, the fields of a token at the top are those of the first one.',
  body: mintBody,
  response: {
    201: successOf(acceptedMintSchema, 'The tokens are minted, or the voucher of a LAZY mint is signed.'),
    202: successOf(acceptedMintSchema, 'The mint is accepted and on the way.'),
  },
}

const read = {
  tags,
  summary: 'Read a mint',
  description: 'One mint, with what became of each of its tokens.',
  params: mintParams,
  response: { 200: successOf(mintSchema, 'The mint.') },
}

const tokens = {
  tags,
  summary: 'List tokens',
  description: 'The tokens that were minted here into a collection, newest first, those that failed included.',
  params: collectionParams,
  querystring: closedObject(pageQuery),
  response: { 200: successOf(tokenPageSchema, 'One page.') },
}

const token = {
  tags,
  summary: 'Read a token',
  description: 'One token, with its metadata.',
  params: tokenParams,
  response: { 200: successOf(tokenDetailSchema, 'The token.') },
}

export function mintRoutes(ports: MintRoutePorts): Routes {
  const { reads, collections, ownersOf } = ports
  return (app) => {
    app.post(
      '/v1/nft/mint',
      {
        schema: mint,
        config: {
          scope: 'nft:write',
          idempotent: true,
          body: MINT_BODY,
          waits:
            'for the tokens to be in a block, 15 seconds at most, or for the signature of a LAZY mint, 2 seconds at most',
          refusals: {
            409: "The collection is full or was not deployed, it is another edition's turn, or the wallet is archived.",
            503: 'No node has told its fees lately, gas costs more than the cap, or IPFS did not take the metadata.',
          },
        },
      },
      async (request, reply) => {
        const owner = ownerOf(request)
        const accepted = await accept(ports, request, toRequest(request.body))
        if (accepted.replayed) markReplayed(reply)
        const preference = preferenceOf(request)
        applyPreference(reply, preference)
        const view = await settled(ports, owner, accepted, preference.waitMs)
        const warnings = await ports.warnOfRecipients(view, await collections.read(owner, view.collection_id))
        const done = view.status === 'MINTED' || (view.voucher !== null && view.voucher.signature !== null)
        return reply.code(done ? 201 : 202).send(success({ ...view, warnings }))
      },
    )

    app.get('/v1/nft/mints/:mint_id', { schema: read, config: { scope: 'nft:read' } }, async (request) =>
      success(await reads.read(ownerOf(request), request.params.mint_id)),
    )

    app.get(
      '/v1/nft/collections/:collection_id/tokens',
      { schema: tokens, config: { scope: 'nft:read' } },
      async (request) => {
        const collection = await collections.read(ownerOf(request), request.params.collection_id)
        const { limit, cursor } = request.query
        const before = cursor === undefined ? null : tokenIdIn(cursor)
        const found = await reads.tokens(collection.collection_id, { before, limit: limit + 1 })
        const ids = found.map(({ token_id }) => token_id)
        const owners = await ownersOf(collection.chain_id, collection.contract_address, ids)
        const keyOf = (view: TokenView) => [view.token_id]
        const present = (view: TokenView) => withHolder(view, owners.get(view.token_id) ?? [])
        return success(pageOf('tokens', { found, limit, keyOf, present }))
      },
    )

    app.get(
      '/v1/nft/collections/:collection_id/tokens/:token_id',
      { schema: token, config: { scope: 'nft:read' } },
      async (request) => {
        const collection = await collections.read(ownerOf(request), request.params.collection_id)
        return success(await readToken(ports, collection, request.params.token_id))
      },
    )
  }
}

/** Anybody can write a cursor: what is no token id never reaches the database. */
function tokenIdIn(cursor: string): string {
  const [tokenId = ''] = decodeCursor('tokens', 1, cursor)
  if (/^\d{1,15}$/.test(tokenId)) return tokenId
  throw ValidationFailed.field(
    'cursor',
    'invalid_cursor',
    'cursor must be the next_cursor of a page of this list, unaltered.',
  )
}

/** A key that made a mint before is answered with it, whatever would be said to the request today. */
async function accept(
  { mintTokens, findReplay }: MintRoutePorts,
  request: FastifyRequest,
  wanted: MintRequest,
): Promise<AcceptedMint> {
  const metadata = metadataOf(request)
  const before = await findReplay(metadata)
  if (before !== null) return { id: before, replayed: true, transactionIds: [] }
  return mintTokens(wanted, metadata, request.caller.environment)
}

/** The mint, once all of it is in a block, or its voucher signed, or the time is over. @param wanted milliseconds */
async function settled(
  { reads, untilMined, untilVoucherSigned, signWaitMs }: MintRoutePorts,
  owner: Owner,
  { id, replayed, transactionIds }: AcceptedMint,
  wanted: number | null,
): Promise<MintView> {
  const before = replayed || transactionIds.length === 0 ? await reads.read(owner, id) : null
  if (before?.voucher && before.voucher.signature === null) {
    const patience = wanted ?? signWaitMs
    return patience > 0 && (await untilVoucherSigned(id, patience)) !== null ? reads.read(owner, id) : before
  }
  const waitMs = wanted ?? MINED_WAIT_MS
  const pending =
    before?.status === 'PENDING' ? before.tokens.map(({ transaction_id }) => transaction_id) : transactionIds
  const awaited = new Set(pending.filter((transactionId) => transactionId !== null))
  if (waitMs > 0) await Promise.all([...awaited].map((transactionId) => untilMined(transactionId, waitMs)))
  return before !== null && awaited.size === 0 ? before : reads.read(owner, id)
}

function ownerOf({ caller }: FastifyRequest): Owner {
  return { tenantId: caller.tenantId, environment: caller.environment }
}

function toRequest(body: Static<typeof mintBody>): MintRequest {
  return {
    collectionId: body.collection_id,
    mintingType: body.minting_type ?? 'DIRECT',
    recipient: body.recipient,
    metadata: body.metadata,
    amount: body.amount,
    items: body.items,
    validUntil: body.valid_until,
  }
}
