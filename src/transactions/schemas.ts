/** Schemas of the requests and responses about transactions. */

import { type TSchema, Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { pageSchema } from '../http/paging.ts'
import {
  addressSchema,
  amountSchema,
  closedObject,
  idSchema,
  instant,
  networkSchema,
  nullable,
  oneOf,
  searchText,
} from '../http/schemas.ts'
import { callSchema, eventsSchema } from './call-schemas.ts'
import { callerSchemas, callerViewSchemas } from './caller-schemas.ts'
import { kindsOfTransactions, subjectsOfTransactions } from './kinds.ts'
import { partSchemas } from './parts.ts'
import { TRANSACTION_STATES } from './state.ts'
import { failureSchema, waitingSchema } from './waiting-schemas.ts'

const STATUSES = ['pending', 'confirmed', 'failed', 'cancelled'] as const
/** In the order in which they are declared. */
const types = () => [...new Set(Object.values(kindsOfTransactions()).map(({ type }) => type))]

export const PRIORITIES = ['low', 'medium', 'high'] as const
export const PRIORITY_TEXT =
  'How high the tip is compared with recent blocks. A higher priority is mined sooner and costs more.'

export const gasPrioritySchema = oneOf(PRIORITIES, {
  description: PRIORITY_TEXT,
  default: 'medium',
  examples: ['medium'],
})

export const walletParams = closedObject({ wallet_id: idSchema('wal', 'The id of the wallet that sends.') })

export const transactionParams = closedObject({
  wallet_id: idSchema('wal', 'The id of the wallet that sends.'),
  transaction_id: idSchema('tx', 'The id of the transaction.'),
})

export const transferFields = {
  to: { ...addressSchema, description: `The recipient. ${addressSchema.description}` },
  amount: { ...amountSchema, description: `The amount to send. ${amountSchema.description}` },
  asset: Type.String({
    description: 'The asset to send: a symbol such as ETH or USDC, or the address of an ERC-20 contract.',
    minLength: 1,
    maxLength: 64,
    examples: ['ETH'],
  }),
  gas_priority: Type.Optional(gasPrioritySchema),
  ...callerSchemas,
}

export const transferBody = closedObject(transferFields)

export const speedUpBody = closedObject({
  gas_priority: Type.Optional({ ...gasPrioritySchema, default: 'high', examples: ['high'] }),
})

const hashSchema = Type.String({
  description: 'The hash of the transaction.',
  examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
})
const statusSchema = oneOf(STATUSES, {
  description: '`pending` until the outcome is final. `state` has more detail.',
  examples: ['pending'],
})
const stateSchema = oneOf(TRANSACTION_STATES, {
  description:
    'The detailed state of the transaction. `cancelling`: its cancellation is in a block that is not final yet.',
  examples: ['signed'],
})
export const currencySchema = Type.String({ description: 'The symbol of the native currency.', examples: ['ETH'] })
const completionSchema = instant('When the transaction is expected to be final.')

const feeSchema = Type.Object(
  {
    estimated: Type.String({ description: 'The highest fee that it can cost.', examples: ['0.000042'] }),
    actual: nullable(
      Type.String({ description: 'The fee that was paid. Null until it is mined.', examples: ['0.000042'] }),
    ),
    currency: currencySchema,
  },
  { description: 'The transaction fee, in the native currency.' },
)

const historySchema = Type.Array(
  Type.Object({
    state: stateSchema,
    at: instant('When the transaction entered this state.'),
    revoked: Type.Optional(
      Type.Object(
        {
          state: { ...stateSchema, description: 'The state that was revoked.' },
          confirmations: Type.Integer({
            description: 'How many confirmations its block had when it was revoked.',
            examples: [34],
          }),
        },
        { description: 'Only where a chain reorganisation revoked a final state.' },
      ),
    ),
  }),
  { description: 'Every state that the transaction entered, oldest first.' },
)

export const acceptedFields = {
  transaction_id: idSchema('tx', 'The id of the transaction. It never changes.'),
  status: statusSchema,
  hash: nullable({ ...hashSchema, description: 'The hash of the transaction. Null until it is signed.' }),
  estimated_completion_time: completionSchema,
  state: stateSchema,
}

/** The fields of the response to a request, and the detailed state. */
export const acceptedSchema = named('AcceptedTransfer', Type.Object(acceptedFields))

export function transactionSchema() {
  return named(
    'Transaction',
    Type.Object({
      transaction_id: idSchema('tx', 'The id of the transaction. It never changes.'),
      status: statusSchema,
      hash: nullable({ ...hashSchema, description: 'The hash of the transaction. Null until it is signed.' }),
      block_number: nullable(
        Type.Integer({ description: 'The block that holds it. Null until it is mined.', examples: [19000042] }),
      ),
      confirmations: Type.Integer({ description: 'The number of blocks from its own to the newest.', examples: [12] }),
      wallet_id: idSchema('wal', 'The id of the wallet that sends.'),
      network: networkSchema,
      type: oneOf(types(), { description: 'What the transaction does.', examples: ['TRANSFER'] }),
      state: stateSchema,
      from: { ...addressSchema, description: 'The address of the wallet that sends.' },
      to: {
        ...addressSchema,
        description: 'The recipient. For an NFT transaction, the contract that is called.',
      },
      amount: amountSchema,
      amount_moved: nullable(
        Type.String({
          description:
            'For a token: the amount that its Transfer logs show from the wallet to the recipient. Null until the transaction is in a block. ' +
            'A token that charges a fee on transfer moves less than `amount`.',
          examples: ['0.99'],
        }),
      ),
      asset: Type.String({ description: 'The symbol of the asset.', examples: ['ETH'] }),
      asset_id: Type.String({ description: 'The id of the asset (CAIP-19).', examples: ['eip155:1/slip44:60'] }),
      gas_priority: gasPrioritySchema,
      nonce: nullable(Type.Integer({ description: 'The nonce. Null until it is signed.', examples: [7] })),
      hashes: Type.Array(hashSchema, {
        description: 'The hash of every version that was signed, oldest first. At most one of them is mined.',
      }),
      required_confirmations: Type.Integer({ description: 'How many confirmations make it final.', examples: [32] }),
      fee: feeSchema,
      failure: failureSchema,
      waiting: waitingSchema,
      history: historySchema,
      call: nullable(callSchema),
      events: nullable(eventsSchema),
      events_truncated: nullable(
        Type.Boolean({
          description: 'Whether the call emitted more than `events` has. Null like it.',
          examples: [false],
        }),
      ),
      ...partSchemas(),
      depends_on: nullable(
        idSchema('tx', 'The transaction that must succeed in a block before this one is signed. Null for none.'),
      ),
      subject: nullable(
        Type.Object(
          {
            type: oneOf(subjectsOfTransactions(), { description: 'The type of the resource.', examples: ['mint'] }),
            id: Type.String({
              description: 'The id of the resource.',
              examples: ['mint_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'],
            }),
          },
          {
            description:
              'The resource that the transaction belongs to, such as a mint or a batch of transfers. Null for a single transfer.',
          },
        ),
      ),
      ...callerViewSchemas,
      estimated_completion_time: completionSchema,
      created_at: instant('When the transaction was requested.'),
      updated_at: instant('When the transaction last changed.'),
    }),
  )
}

/** What a request may be told besides its result. */
export function warnings<T extends TSchema>(code: T, description: string, example: string) {
  const message = Type.String({ description: 'The warning, for people, and what to do.', examples: [example] })
  return Type.Array(Type.Object({ code, message }), { description })
}

/** The transaction after a request to cancel it or to speed it up. */
export function changedSchema() {
  return named(
    'ChangedTransaction',
    Type.Object({
      ...transactionSchema().properties,
      warnings: warnings(
        oneOf(['fee_cap_exceeded', 'insufficient_funds'], { description: 'What prevents it.' }),
        'Why the requested replacement cannot be signed now. It is signed automatically later.',
        'The wallet has too little for the fee: send 0.0002 ETH to it.',
      ),
    }),
  )
}

export function transactionPageSchema() {
  return named('TransactionPage', pageSchema('transactions', transactionSchema()))
}

export const listQuery = () => ({
  type: Type.Optional(oneOf(types(), { description: 'Only transactions of this type.' })),
  status: Type.Optional(oneOf(STATUSES, { description: 'Only transactions with this status.' })),
  state: Type.Optional(oneOf(TRANSACTION_STATES, { description: 'Only transactions in this state.' })),
  asset: Type.Optional(
    searchText(64, { description: 'Only transactions of this asset: a symbol or a contract address.' }),
  ),
  reference_id: Type.Optional(searchText(128, { description: 'Only transactions with this reference.' })),
})
