/** Schemas of what came into a wallet and left it. */

import { Type } from '@sinclair/typebox'
import { derivedIdPattern } from '../core/ids.ts'
import { named } from '../http/components.ts'
import { pageSchema } from '../http/paging.ts'
import { idSchema, instant, networkSchema, nullable, oneOf } from '../http/schemas.ts'
import { activity } from './declaration.ts'
import { DIRECTIONS } from './events.ts'
import { TRANSFER_STATUSES } from './state.ts'

const PREFIX = activity.ids.observedTransfer
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const transferIdSchema = Type.String({
  description:
    'The id of the transfer. It follows from the wallet, the direction, the transaction and the log, so a transfer that a reorg moves ' +
    'to another block keeps it.',
  pattern: derivedIdPattern(PREFIX),
  examples: [`${PREFIX}_5f8a2c19-7c3e-8b52-8d10-0f6c2f1d8a11`],
})

export const directionSchema = oneOf(DIRECTIONS, {
  description: '`in`: the wallet received it. `out`: it left the wallet.',
  examples: ['in'],
})

const valuationSchema = Type.Object(
  {
    usd_value: Type.String({ description: 'US dollars, rounded half up to cents.', examples: ['4518.52'] }),
    price: Type.String({ description: 'US dollars for one whole unit of the asset.', examples: ['3012.35'] }),
    price_at: instant('When the price feed was updated.'),
  },
  {
    description:
      'The value when the transfer was observed. Null if no price was known: only the native currency and configured tokens can have ' +
      'one. Null for your own transactions.',
  },
)

const sharedFields = {
  direction: directionSchema,
  network: networkSchema,
  amount: Type.String({ description: 'The amount, in whole units of the asset.', examples: ['1.5'] }),
  asset: Type.String({ description: 'The symbol of the asset.', examples: ['ETH'] }),
  asset_id: Type.String({ description: 'The id of the asset (CAIP-19).', examples: ['eip155:1/slip44:60'] }),
  contract_address: nullable(Type.String({ description: 'The token contract. Null for the native currency.' })),
  counterparty: nullable(
    Type.String({
      description: 'The address on the other side. Null if the value went to a contract that the transaction created.',
      examples: [ADDRESS],
    }),
  ),
  log_index: nullable(
    Type.Integer({
      description:
        'The index of the Transfer log in the block. Null for the native currency and for your own transactions.',
      examples: [null],
    }),
  ),
  valuation: nullable(valuationSchema),
}

const HASH = '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'
const hashSchema = Type.String({ description: 'The hash of the transaction on chain.', examples: [HASH] })

const entrySchema = named(
  'ActivityEntry',
  Type.Object({
    id: Type.String({
      description: `The id of the entry: that of an observed transfer (\`${PREFIX}_\`), or that of your own transaction.`,
      examples: [`${PREFIX}_5f8a2c19-7c3e-8b52-8d10-0f6c2f1d8a11`],
    }),
    ...sharedFields,
    status: oneOf(['pending', 'confirmed'], {
      description: '`confirmed` when its block has the required confirmations. A reorg can make it `pending` again.',
      examples: ['confirmed'],
    }),
    hash: nullable({ ...hashSchema, description: 'The hash on chain. Null until your own transaction is signed.' }),
    block_number: nullable(
      Type.Integer({ description: 'The block that holds it. Null until it is mined.', examples: [19000042] }),
    ),
    transaction_id: nullable(idSchema('tx', 'Your own transaction that moved it. Null if somebody else sent it.')),
    created_at: instant('When the transfer was observed, or when your own transaction was requested.'),
  }),
)

export const LIST = 'activity'
export const activityPageSchema = named('ActivityPage', pageSchema(LIST, entrySchema))

export const transferAtEventSchema = named(
  'ObservedTransferAtEvent',
  Type.Object({
    transfer_id: transferIdSchema,
    wallet_id: idSchema('wal', 'The id of the wallet.'),
    ...sharedFields,
    decimals: Type.Integer({ description: 'How many decimals the asset has.', examples: [18] }),
    status: oneOf(TRANSFER_STATUSES, {
      description:
        '`detected` in a block, `confirmed` when the block has the required confirmations, `orphaned` when it left the chain.',
      examples: ['detected'],
    }),
    hash: hashSchema,
    block_number: Type.Integer({ description: 'The block that holds it, or held it.', examples: [19000042] }),
    block_hash: Type.String({ description: 'The hash of that block.', examples: [HASH] }),
    block_timestamp: instant('The time of that block.'),
    transaction_id: nullable(
      idSchema('tx', 'The transaction of this wallet that moved it. Null if somebody else sent it.'),
    ),
    unopened: Type.Optional(
      Type.Boolean({
        description:
          'Whether it came to the address of the wallet on a network where its key has no wallet: open the wallet on `network` to ' +
          'move it. Missing if it did not.',
        examples: [true],
      }),
    ),
  }),
)
