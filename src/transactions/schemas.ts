/** What requests and answers about transactions look like on the wire. */
import { type TSchema, Type } from '@sinclair/typebox'
import { type Page, pageSchema } from '../http/paging.ts'
import {
  addressSchema,
  amountSchema,
  closedObject,
  idSchema,
  instantSchema,
  networkSchema,
  nullable,
  oneOf,
  searchText,
  text,
} from '../http/schemas.ts'
import { SUBJECT_TYPES, TRANSACTION_TYPES } from './events.ts'
import { FINAL_STATES, UNMINED_STATES } from './state.ts'
import type { TransactionView } from './view.ts'

const STATUSES = ['pending', 'confirmed', 'failed', 'cancelled'] as const
const STATES = [...UNMINED_STATES, 'mined', ...FINAL_STATES] as const
const TYPES = [...Object.values(TRANSACTION_TYPES), 'SWAP', 'CONTRACT'] as const

const gasPrioritySchema = oneOf(['low', 'medium', 'high'] as const, {
  description: 'How much of the recent tips to outbid.',
  default: 'medium',
  examples: ['medium'],
})

export const walletParams = closedObject({ wallet_id: idSchema('wallet', 'The wallet that sends.') })

export const transactionParams = closedObject({
  wallet_id: idSchema('wallet', 'The wallet that sends.'),
  transaction_id: idSchema('transaction', 'The transaction.'),
})

export const transferBody = closedObject({
  to: addressSchema,
  amount: amountSchema,
  asset: Type.String({
    description: 'A symbol such as ETH or USDC, or the address of an ERC-20 contract.',
    minLength: 1,
    maxLength: 64,
    examples: ['ETH'],
  }),
  gas_priority: Type.Optional(gasPrioritySchema),
  reference_id: Type.Optional(
    text(128, {
      minLength: 1,
      description: 'Your own reference; transactions can be listed by it.',
      examples: ['invoice-1042'],
    }),
  ),
  memo: Type.Optional(
    text(256, { description: 'A note that stays here and never goes on chain.', examples: ['March rent'] }),
  ),
  valid_until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Not signed after this time: it fails as `expired` instead.',
      examples: ['2030-01-31T12:00:00.000Z'],
    }),
  ),
})

export const speedUpBody = closedObject({
  gas_priority: Type.Optional({ ...gasPrioritySchema, default: 'high', examples: ['high'] }),
})

const hashSchema = Type.String({ examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'] })
const decimalSchema = Type.String({ examples: ['0.000042'] })
const statusSchema = oneOf(STATUSES, { examples: ['pending'] })
const stateSchema = oneOf(STATES, { examples: ['signed'] })

/** What the contract shows on creation, and the finer state. */
export const acceptedSchema = Type.Object({
  transaction_id: idSchema('transaction', 'Names the transaction for ever.'),
  status: statusSchema,
  hash: nullable(hashSchema),
  estimated_completion_time: instantSchema,
  state: stateSchema,
})

export const transactionSchema = Type.Unsafe<TransactionView>(
  Type.Object({
    transaction_id: idSchema('transaction', 'Names the transaction for ever.'),
    status: statusSchema,
    hash: nullable(hashSchema),
    block_number: nullable(Type.Integer({ examples: [19000042] })),
    confirmations: Type.Integer({ description: 'Blocks on top of it, its own included.', examples: [12] }),
    wallet_id: idSchema('wallet', 'The wallet that sends.'),
    network: networkSchema,
    type: oneOf(TYPES, { examples: ['TRANSFER'] }),
    state: stateSchema,
    from: addressSchema,
    to: {
      ...addressSchema,
      description: `${addressSchema.description} Of an NFT transaction it is the contract that is called.`,
    },
    amount: amountSchema,
    amount_moved: nullable(
      Type.String({
        description:
          'Of a token: what its Transfer logs show from the wallet to the recipient, once the transaction is in a block. Tokens that charge on transfer move less than `amount`.',
        examples: ['0.99'],
      }),
    ),
    asset: Type.String({ examples: ['ETH'] }),
    asset_id: Type.String({ description: 'CAIP-19.', examples: ['eip155:1/slip44:60'] }),
    gas_priority: gasPrioritySchema,
    nonce: nullable(Type.Integer({ examples: [7] })),
    hashes: Type.Array(hashSchema, {
      description: 'Every version that was signed, oldest first; at most one is ever mined.',
    }),
    required_confirmations: Type.Integer({ description: 'Confirmations that make it final.', examples: [32] }),
    fee: Type.Object({
      estimated: decimalSchema,
      actual: nullable(decimalSchema),
      currency: Type.String({ examples: ['ETH'] }),
    }),
    failure: nullable(
      Type.Object({
        code: Type.String({ examples: ['execution_reverted'] }),
        message: Type.String({ examples: ['ERC20InsufficientBalance'] }),
      }),
    ),
    history: Type.Array(
      Type.Object({
        state: stateSchema,
        at: instantSchema,
        revoked: Type.Optional(
          Type.Object(
            { state: stateSchema, confirmations: Type.Integer({ examples: [34] }) },
            {
              description:
                'Only where a reorganisation took back what had been told: that state, and how many confirmations its block had by then.',
            },
          ),
        ),
      }),
    ),
    depends_on: nullable(
      idSchema('transaction', 'The transaction that must have succeeded in a block before this one is signed.'),
    ),
    subject: nullable(
      Type.Object(
        {
          type: oneOf(SUBJECT_TYPES, { examples: ['mint'] }),
          id: Type.String({ examples: ['mint_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'] }),
        },
        { description: 'What it serves, such as a mint.' },
      ),
    ),
    reference_id: nullable(Type.String({ examples: ['invoice-1042'] })),
    memo: nullable(Type.String({ examples: ['March rent'] })),
    valid_until: nullable(instantSchema),
    estimated_completion_time: instantSchema,
    created_at: instantSchema,
    updated_at: instantSchema,
  }),
)

export const transactionPageSchema = Type.Unsafe<Page<'transactions', TransactionView>>(
  pageSchema('transactions', transactionSchema as TSchema),
)

const feeLevel = Type.Object({
  native: Type.String({ description: 'The most that gas can cost, in the native currency.', examples: ['0.00042'] }),
  usd: nullable(Type.String({ examples: ['1.26'] })),
  max_fee_per_gas_wei: Type.String({ examples: ['20000000000'] }),
  max_priority_fee_per_gas_wei: Type.String({ examples: ['1000000000'] }),
})

export const previewSchema = Type.Object({
  would_succeed: Type.Boolean(),
  reason: nullable(Type.String({ description: 'Why it would not succeed.', examples: ['insufficient_funds'] })),
  gas_limit: nullable(Type.String({ examples: ['21000'] })),
  fee: Type.Object({ currency: Type.String({ examples: ['ETH'] }), low: feeLevel, medium: feeLevel, high: feeLevel }),
  balance_after: nullable(
    Type.String({ description: 'What would be available of the asset, at the most gas.', examples: ['0.49'] }),
  ),
  warnings: Type.Array(
    Type.Object({
      code: Type.String({ examples: ['first_transfer_to_recipient'] }),
      message: Type.String({ examples: ['This wallet has never sent to this address: check it once more.'] }),
    }),
  ),
})

export const listQuery = {
  type: Type.Optional(oneOf(TYPES, { description: 'Only this type.' })),
  status: Type.Optional(oneOf(STATUSES, { description: 'Only this status.' })),
  state: Type.Optional(oneOf(STATES, { description: 'Only this state.' })),
  asset: Type.Optional(searchText(64, { description: 'Only this asset: a symbol or a contract address.' })),
  reference_id: Type.Optional(searchText(128, { description: 'Only what was sent with this reference.' })),
}
