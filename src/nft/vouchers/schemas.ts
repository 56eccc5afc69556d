/** What vouchers look like on the wire. */
import { Type } from '@sinclair/typebox'
import { addressSchema, closedObject, idSchema, instantSchema, nullable, oneOf } from '../../http/schemas.ts'
import { REVOCATION_STATUSES } from './view.ts'

export const redeemBody = closedObject(
  {
    recipient: Type.Optional({
      ...addressSchema,
      description: 'Who gets the token. Required where the voucher names nobody; otherwise the one that it names.',
    }),
  },
  { examples: [{ recipient: addressSchema.examples?.[0] }] },
)

const DIGITS = { examples: ['1'] }
const digestSchema = Type.String({
  description: 'SHA-256 of the metadata, as the contract holds it.',
  examples: ['0x2e4a6f0b9d0f0c5d2b7b6f5c9c3f7a1f0d9e8c7b6a5f4e3d2c1b0a9f8e7d6c5b'],
})
const hashSchema = nullable(
  Type.String({
    description: 'Null until it is signed.',
    examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
  }),
)

export const voucherSchema = nullable(
  Type.Object(
    {
      token_id: Type.String({ description: 'The token that it mints.', ...DIGITS }),
      recipient: nullable({ ...addressSchema, description: 'Who it names; null for whoever redeems it.' }),
      amount: Type.String({ description: 'Units of the token; 1 in ERC721.', ...DIGITS }),
      metadata_digest: digestSchema,
      valid_until: nullable({ ...instantSchema, description: 'Null for no end.' }),
      signature: nullable(
        Type.String({
          description: "65 bytes (r, s, v) of the owner wallet's key. Null until a signer has signed.",
          examples: [
            '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c',
          ],
        }),
      ),
      domain: Type.Object(
        {
          name: Type.String({ examples: ['Bursar'] }),
          version: Type.String({ examples: ['1'] }),
          chainId: Type.Integer({ examples: [1] }),
          verifyingContract: addressSchema,
        },
        { description: 'Where it holds (EIP-712).' },
      ),
      message: Type.Object(
        {
          tokenId: Type.String(DIGITS),
          recipient: Type.String({ examples: addressSchema.examples as string[] }),
          amount: Type.String(DIGITS),
          digest: digestSchema,
          validUntil: Type.String({ description: 'Unix time in seconds; 0 for no end.', examples: ['0'] }),
        },
        {
          description:
            'What is signed: the first argument of `redeem` of the contract, for those who redeem elsewhere.',
        },
      ),
      revocation: nullable(
        Type.Object(
          {
            status: oneOf(REVOCATION_STATUSES, { examples: ['PENDING'] }),
            transaction_id: idSchema('transaction', "The transaction that revokes it; one of the collection's wallet."),
            transaction_hash: hashSchema,
          },
          { description: 'What became of the newest wish to revoke it.' },
        ),
      ),
    },
    { description: 'Of a LAZY mint: the word of the owner that the token may be minted.' },
  ),
)
