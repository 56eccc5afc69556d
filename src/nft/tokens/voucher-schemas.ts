/** Schemas of the requests and responses about vouchers. */

import { Type } from '@sinclair/typebox'
import { named } from '../../http/components.ts'
import { addressSchema, closedObject, idSchema, instant, nullable, oneOf } from '../../http/schemas.ts'

export const redeemBody = closedObject(
  {
    recipient: Type.Optional({
      ...addressSchema,
      description:
        'The address that receives the token. Required if the voucher names no recipient. Otherwise it must be that recipient or omitted.',
    }),
  },
  { examples: [{ recipient: addressSchema.examples?.[0] }] },
)

const DIGITS = { examples: ['1'] }
const digestSchema = Type.String({
  description: 'The SHA-256 digest of the metadata, as the contract stores it.',
  examples: ['0x2e4a6f0b9d0f0c5d2b7b6f5c9c3f7a1f0d9e8c7b6a5f4e3d2c1b0a9f8e7d6c5b'],
})
const hashSchema = nullable(
  Type.String({
    description: 'The hash of the transaction. Null until it is signed.',
    examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
  }),
)

export const voucherSchema = nullable(
  named(
    'NftVoucher',
    Type.Object(
      {
        token_id: Type.String({ description: 'The id of the token that it mints.', ...DIGITS }),
        recipient: nullable({
          ...addressSchema,
          description: 'The address that receives the token. Null if the redeemer chooses.',
        }),
        amount: Type.String({ description: 'How many units of the token are minted. Always 1 for ERC721.', ...DIGITS }),
        metadata_digest: digestSchema,
        valid_until: nullable(instant('The voucher can be redeemed until this time. Null for no limit.')),
        signature: nullable(
          Type.String({
            description: "The signature of the owner wallet's key, 65 bytes (r, s, v). Null until it is signed.",
            examples: [
              '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c',
            ],
          }),
        ),
        domain: Type.Object(
          {
            name: Type.String({ description: 'The name of the domain.', examples: ['Bursar'] }),
            version: Type.String({ description: 'The version of the domain.', examples: ['1'] }),
            chainId: Type.Integer({ description: 'The chain of the collection.', examples: [1] }),
            verifyingContract: { ...addressSchema, description: 'The contract of the collection.' },
          },
          { description: 'The EIP-712 domain of the signature.' },
        ),
        message: Type.Object(
          {
            tokenId: Type.String({ description: 'The token id.', ...DIGITS }),
            recipient: Type.String({
              description: 'The recipient. The zero address if the redeemer chooses.',
              examples: addressSchema.examples as string[],
            }),
            amount: Type.String({ description: 'How many units.', ...DIGITS }),
            digest: digestSchema,
            validUntil: Type.String({ description: 'Unix time in seconds. 0 for no limit.', examples: ['0'] }),
          },
          {
            description:
              'The EIP-712 message that is signed. Pass it as the first argument of `redeem` to redeem without this API.',
          },
        ),
        revocation: nullable(
          Type.Object(
            {
              status: oneOf(['PENDING', 'REVOKED', 'FAILED'], {
                description: 'The status of the revocation.',
                examples: ['PENDING'],
              }),
              transaction_id: idSchema('tx', "The transaction that revokes it, sent from the collection's wallet."),
              transaction_hash: hashSchema,
            },
            { description: 'The newest request to revoke the voucher. Null for none.' },
          ),
        ),
      },
      { description: 'The voucher of a LAZY mint: a signed permission to mint the token. Null for other mints.' },
    ),
  ),
)
