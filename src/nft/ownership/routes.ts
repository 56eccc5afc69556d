/** The HTTP route of the tokens that a wallet holds in collections of this service. */

import { Type } from '@sinclair/typebox'
import { ValidationFailed } from '../../core/errors.ts'
import { named } from '../../http/components.ts'
import { success, successOf } from '../../http/envelope.ts'
import { decodeCursor, pageOf, pageQuery, pageSchema } from '../../http/paging.ts'
import type { Routes } from '../../http/request.ts'
import { addressSchema, closedObject, idSchema, nullable, oneOf } from '../../http/schemas.ts'
import { withAddress } from '../../wallets/find-wallet.ts'
import type { NftContext } from '../nft-context.ts'
import { readWalletTokens, type WalletTokenRow } from './read-wallet-tokens.ts'

const LIST = 'nfts'
const TOKEN_ID = /^\d{1,78}$/

const tokenSchema = named(
  'WalletNft',
  Type.Object({
    collection_id: idSchema('col', 'The id of the collection.'),
    contract_address: { ...addressSchema, description: 'The contract of the collection.' },
    token_id: Type.String({ description: 'The id of the token in its collection.', examples: ['1'] }),
    standard: oneOf(['ERC721', 'ERC1155'] as const, {
      description: 'The standard of the contract.',
      examples: ['ERC721'],
    }),
    amount: Type.String({ description: 'How many units the wallet holds. Always 1 for ERC721.', examples: ['1'] }),
    metadata_uri: nullable(
      Type.String({
        description: 'The URI of the metadata. Null for a token that was not minted by this service.',
        examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
      }),
    ),
    name: nullable(Type.String({ description: 'The name in the metadata.', examples: ['Example #1'] })),
    image: nullable(
      Type.String({
        description: "The image in the metadata. Null for a `data:` image in a collection that is not the caller's.",
        examples: ['https://example.com/1.png'],
      }),
    ),
  }),
)

const list = {
  tags: ['NFT'],
  operationId: 'listWalletNfts',
  summary: 'List the NFTs of a wallet',
  description:
    'Lists the tokens that a wallet holds in collections that this service deployed, also those of others, as of the newest block. ' +
    'Tokens that were moved without this API are included. The newest collection comes first, and in it the highest token id.',
  params: closedObject({ wallet_id: idSchema('wal', 'The id of the wallet.') }),
  querystring: closedObject({
    ...pageQuery,
    collection_id: Type.Optional(idSchema('col', 'Only tokens of this collection.')),
  }),
  response: { 200: successOf(named('WalletNftPage', pageSchema(LIST, tokenSchema)), 'A page of tokens.') },
}

export function walletTokenRoutes({ pool, findWallet }: Pick<NftContext, 'pool' | 'findWallet'>): Routes {
  return (app) => {
    app.get(
      '/v1/wallets/:wallet_id/nfts',
      { schema: list, config: { scope: 'nft:read', refusals: { 409: 'The wallet has no address yet.' } } },
      async (request) => {
        const { limit, cursor, collection_id: collectionId } = request.query
        const { tenantId, environment } = request.caller
        const before = cursor === undefined ? undefined : readCursor(cursor)
        const wallet = withAddress(await findWallet({ tenantId, environment }, request.params.wallet_id))
        const { chainId, address } = wallet
        const found = await readWalletTokens(pool, {
          tenantId,
          chainId,
          address,
          collectionId,
          before,
          limit: limit + 1,
        })
        const keyOf = (row: WalletTokenRow) => [row.collection_id, row.token_id]
        return success(pageOf(LIST, { found, limit, keyOf, present: (row) => row }))
      },
    )
  }
}

function readCursor(cursor: string) {
  const [collectionId = '', tokenId = ''] = decodeCursor(LIST, 2, cursor)
  if (TOKEN_ID.test(tokenId)) return { collectionId, tokenId }
  throw ValidationFailed.field(
    'cursor',
    'invalid_cursor',
    'cursor must be the unchanged next_cursor of a page of this list.',
  )
}
