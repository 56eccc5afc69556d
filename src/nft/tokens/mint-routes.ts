/** HTTP routes that mint tokens, and read mints and tokens. */
import type { Static } from '@sinclair/typebox'
import { ValidationFailed } from '../../core/errors.ts'
import type { Owner } from '../../core/tenants.ts'
import { MINT_BODY } from '../../http/body-limits.ts'
import { success, successOf } from '../../http/envelope.ts'
import { decodeCursor, pageOf, pageQuery } from '../../http/paging.ts'
import { replyAccepted } from '../../http/reply-accepted.ts'
import type { Routes } from '../../http/request.ts'
import { closedObject } from '../../http/schemas.ts'
import { MINED_WAIT_MS } from '../collections/routes.ts'
import { collectionParams } from '../collections/schemas.ts'
import type { NftContext } from '../nft-context.ts'
import { readOwners } from '../ownership/read-owners.ts'
import {
  acceptedMintSchema,
  mintBody,
  mintParams,
  mintSchema,
  tokenDetailSchema,
  tokenPageSchema,
  tokenParams,
} from './mint-schemas.ts'
import { type AcceptedMint, type MintRequest, mintTokens } from './mint-tokens.ts'
import { type MintView, type TokenView, withHolder } from './mint-view.ts'
import { listTokens, readMint, readToken } from './read-mints.ts'
import { warnOfRecipients } from './warn-of-recipients.ts'

const tags = ['NFT']

const mint = {
  tags,
  operationId: 'mintNft',
  summary: 'Mint tokens',
  description:
    'Mints tokens into one of your collections. The service assigns the token ids. Once the response is sent, the mint is recorded ' +
    'permanently and each token is minted at most once, even if processes or nodes fail. `minting_type` selects the fields:\n\n' +
    '- `DIRECT` mints one token now.\n' +
    '- `BATCH` mints up to 100 tokens, in one transaction if its gas allows, otherwise in several. `tokens` has the status of each. ' +
    'The token fields at the top level are those of the first token.\n' +
    '- `LAZY` sends no transaction and costs no gas. The response has a signed `voucher`, and the token is minted when it is redeemed.',
  body: mintBody,
  response: {
    201: successOf(acceptedMintSchema, 'The tokens are minted, or the voucher of a LAZY mint is signed.'),
    202: successOf(
      acceptedMintSchema,
      'The mint is accepted. Its tokens are not in a block yet, or its voucher is not signed yet.',
    ),
  },
}

const read = {
  tags,
  operationId: 'getNftMint',
  summary: 'Get a mint',
  description: 'Returns a mint with the status of each token.',
  params: mintParams,
  response: { 200: successOf(mintSchema, 'The mint.') },
}

const tokens = {
  tags,
  operationId: 'listNftTokens',
  summary: 'List tokens',
  description: 'Lists the tokens that this service minted into a collection, newest first. Failed tokens are included.',
  params: collectionParams,
  querystring: closedObject(pageQuery),
  response: { 200: successOf(tokenPageSchema, 'A page of tokens.') },
}

const token = {
  tags,
  operationId: 'getNftToken',
  summary: 'Get a token',
  description: 'Returns one token with its metadata and its owners.',
  params: tokenParams,
  response: { 200: successOf(tokenDetailSchema, 'The token.') },
}

export function mintRoutes(ctx: NftContext): Routes {
  const { pool, collections } = ctx
  return (app) => {
    app.post(
      '/v1/nft/mint',
      {
        schema: mint,
        config: {
          scope: 'nft:write',
          idempotent: true,
          quotas: quotasOfMint,
          body: MINT_BODY,
          waits:
            'up to 15 seconds for the tokens to be in a block, or up to 2 seconds for the signature of a LAZY mint',
          refusals: {
            404: 'The body names a collection that is not known.',
            409: 'The collection is full or was not deployed, the edition is not the next one, or the wallet is archived.',
            503: 'No node has reported its fees recently, gas costs more than the cap, or IPFS did not accept the metadata.',
          },
        },
      },
      (request, reply) => {
        const owner = request.caller
        return replyAccepted(request, reply, {
          accept: (metadata) => mintTokens(ctx, toRequest(request.body), metadata, owner.environment),
          async answer(accepted, waitMs, over) {
            const view = await settled(ctx, owner, accepted, { wanted: waitMs, over })
            const collection = accepted.made?.collection ?? (await collections.read(owner, view.collection_id))
            const warnings = await warnOfRecipients(ctx, view, collection)
            const done = view.status === 'MINTED' || (view.voucher !== null && view.voucher.signature !== null)
            return { code: done ? 201 : 202, view: { ...view, warnings } }
          },
        })
      },
    )

    app.get('/v1/nft/mints/:mint_id', { schema: read, config: { scope: 'nft:read' } }, async (request) =>
      success(await readMint(pool, request.caller, request.params.mint_id)),
    )

    app.get(
      '/v1/nft/collections/:collection_id/tokens',
      { schema: tokens, config: { scope: 'nft:read' } },
      async (request) => {
        const collection = await collections.read(request.caller, request.params.collection_id)
        const { limit, cursor } = request.query
        const before = cursor === undefined ? null : tokenIdIn(cursor)
        const found = await listTokens(pool, collection.collection_id, { before, limit: limit + 1 })
        const ids = found.map(({ token_id }) => token_id)
        const owners = await readOwners(pool, collection.chain_id, collection.contract_address, ids)
        const keyOf = (view: TokenView) => [view.token_id]
        const present = (view: TokenView) => withHolder(view, owners.get(view.token_id) ?? [])
        return success(pageOf('tokens', { found, limit, keyOf, present }))
      },
    )

    app.get(
      '/v1/nft/collections/:collection_id/tokens/:token_id',
      { schema: token, config: { scope: 'nft:read' } },
      async (request) => {
        const collection = await collections.read(request.caller, request.params.collection_id)
        return success(await readToken(pool, collection, request.params.token_id))
      },
    )
  }
}

/** Anybody can write a cursor: only a valid token id reaches the database. */
function tokenIdIn(cursor: string): string {
  const [tokenId = ''] = decodeCursor('tokens', 1, cursor)
  if (/^\d{1,15}$/.test(tokenId)) return tokenId
  throw ValidationFailed.field(
    'cursor',
    'invalid_cursor',
    'cursor must be the unchanged next_cursor of a page of this list.',
  )
}

/** The mint, once all of it is mined or its voucher is signed, or after the timeout. */
async function settled(
  { pool, config, transactions, untilVoucherSigned }: NftContext,
  owner: Owner,
  { id, made }: AcceptedMint,
  { wanted, over }: { readonly wanted: number | null; readonly over: AbortSignal },
): Promise<MintView> {
  const transactionIds = made?.transactionIds ?? []
  const before = transactionIds.length === 0 ? await readMint(pool, owner, id) : null
  if (before?.voucher && before.voucher.signature === null) {
    const patience = wanted ?? config.signWaitMs
    return patience > 0 && (await untilVoucherSigned(id, patience, over)) !== null ? readMint(pool, owner, id) : before
  }
  const waitMs = wanted ?? MINED_WAIT_MS
  if (waitMs === 0 && made?.view) return made.view
  const pending =
    before?.status === 'PENDING' ? before.tokens.map(({ transaction_id }) => transaction_id) : transactionIds
  const awaited = new Set(pending.filter((transactionId) => transactionId !== null))
  if (waitMs > 0)
    await Promise.all([...awaited].map((transactionId) => transactions.untilMined(transactionId, waitMs, over)))
  return before !== null && awaited.size === 0 ? before : readMint(pool, owner, id)
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

/** A LAZY mint needs a voucher signature; any other sends transactions. */
function quotasOfMint(body: unknown) {
  const { minting_type } = body as Static<typeof mintBody>
  return minting_type === 'LAZY' ? (['ceremonies'] as const) : (['transactions_waiting'] as const)
}
