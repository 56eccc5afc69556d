/** What requests and answers about wallets look like on the wire. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { AMOUNT_PATTERN } from '../core/money.ts'
import { type Page, pageSchema } from '../http/paging.ts'
import {
  addressSchema,
  closedObject,
  environmentSchema,
  idSchema,
  instantSchema,
  labelSchema,
  networkSchema,
  nullable,
  oneOf,
  searchText,
  text,
} from '../http/schemas.ts'
import { KEYED_TYPES, type Notifications, WALLET_TYPES } from './events.ts'
import { LEAST_SIGNERS } from './mpc-terms.ts'
import { WALLET_STATUSES } from './state.ts'
import type { CreatedView, WalletView, WatchedView } from './view.ts'

const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
/** More digits than all the money in the world has cents. */
const MAX_USD_LENGTH = 30

const walletIdSchema = idSchema('wallet', 'Names the wallet for ever.')
const typeSchema = oneOf(WALLET_TYPES, { description: 'Who holds the key: we, or somebody else.', examples: ['hd'] })
const ownAddressSchema = Type.String({ description: 'With its EIP-55 checksum.', examples: [ADDRESS] })
const externalIdSchema = text(64, {
  description: 'Your own id for the wallet, unique among your wallets for ever, archived ones included.',
  minLength: 1,
  examples: ['customer-42'],
})
const statusSchema = oneOf(WALLET_STATUSES, {
  description: '`requested` until its key is made, which takes a moment.',
  examples: ['active'],
})

export const walletParams = closedObject({ wallet_id: idSchema('wallet', 'The wallet.') })

/** No installation has more parties. */
const MAX_PARTIES = 20
const mpcFields = {
  threshold: Type.Integer({
    minimum: LEAST_SIGNERS,
    maximum: MAX_PARTIES,
    description: 'How many parties sign together: more than half of them.',
    examples: [2],
  }),
  parties: Type.Integer({
    minimum: LEAST_SIGNERS,
    maximum: MAX_PARTIES,
    description: 'How many parties hold a share.',
    examples: [3],
  }),
}
const shownMpcFields = {
  mpc: Type.Optional(Type.Object(mpcFields, { description: 'Who holds its key. Mpc wallets only.' })),
  public_key: Type.Optional(
    nullable(
      Type.String({
        description: 'Its public key, compressed, 33 bytes in hex. Mpc wallets only; null until the key is made.',
        examples: ['0x038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75'],
      }),
    ),
  ),
}

export const createBody = closedObject(
  {
    type: oneOf(KEYED_TYPES, {
      description: '`mpc`: shares of it lie with several parties; `hd`: it is derived from a seed.',
      examples: ['hd'],
    }),
    network: networkSchema,
    label: Type.Optional(labelSchema),
    environment: Type.Optional(environmentSchema),
    external_id: Type.Optional(externalIdSchema),
    mpc: Type.Optional(
      closedObject(mpcFields, { description: 'For mpc wallets: other terms than those of the installation.' }),
    ),
  },
  { examples: [{ type: 'hd', network: 'ethereum', label: 'Treasury 🏦', external_id: 'customer-42' }] },
)

const notificationFields = {
  large_transfers: Type.Boolean({ description: 'Tell of transfers of the threshold or more.', examples: [true] }),
  incoming_transactions: Type.Boolean({ description: 'Tell of everything that comes in.', examples: [true] }),
  large_transfer_threshold_usd: Type.String({
    description: 'From how many US dollars on a transfer is large: 10000 unless it is given.',
    pattern: AMOUNT_PATTERN,
    maxLength: MAX_USD_LENGTH,
    examples: ['10000'],
    'x-rule': 'must be US dollars as a decimal string such as "2500.50"',
    'x-code': 'invalid_amount',
  }),
}

const notificationsBody = closedObject({
  large_transfers: Type.Optional(notificationFields.large_transfers),
  incoming_transactions: Type.Optional(notificationFields.incoming_transactions),
  large_transfer_threshold_usd: Type.Optional(notificationFields.large_transfer_threshold_usd),
})

export const watchBody = closedObject({
  address: addressSchema,
  network: networkSchema,
  label: Type.Optional(labelSchema),
  environment: Type.Optional(environmentSchema),
  notifications: Type.Optional(notificationsBody),
})

export const reviseBody = closedObject(
  { label: Type.Optional(labelSchema), notifications: Type.Optional(notificationsBody) },
  { minProperties: 1 },
)

export const listQuery = {
  type: Type.Optional(oneOf(WALLET_TYPES, { description: 'Only this type.' })),
  network: Type.Optional(oneOf(networkSchema.enum, { description: 'Only on this chain.' })),
  label: Type.Optional(searchText(128, { description: 'Only with exactly this label.' })),
  address: Type.Optional(Type.String({ maxLength: 64, description: 'Only with this address, in any case.' })),
  external_id: Type.Optional(searchText(64, { description: 'Only the one with this id of yours.' })),
  status: Type.Optional(
    oneOf(WALLET_STATUSES, { description: 'Only this status; archived ones are left out otherwise.' }),
  ),
}

export const createdSchema = Type.Unsafe<CreatedView>(
  Type.Object({
    wallet_id: walletIdSchema,
    address: nullable(ownAddressSchema),
    type: typeSchema,
    network: networkSchema,
    label: labelSchema,
    created_at: instantSchema,
    environment: environmentSchema,
    external_id: nullable(externalIdSchema),
    status: statusSchema,
    ...shownMpcFields,
  }),
)

export const watchedSchema = Type.Unsafe<WatchedView>(
  Type.Object({
    wallet_id: walletIdSchema,
    address: ownAddressSchema,
    type: oneOf(WALLET_TYPES, { examples: ['watch'] }),
    network: networkSchema,
    label: labelSchema,
  }),
)

export const walletSchema = Type.Unsafe<WalletView>(
  Type.Object({
    wallet_id: walletIdSchema,
    address: nullable(ownAddressSchema),
    type: typeSchema,
    network: networkSchema,
    label: labelSchema,
    created_at: instantSchema,
    environment: environmentSchema,
    external_id: nullable(externalIdSchema),
    status: statusSchema,
    archived_at: nullable(Type.String({ format: 'date-time', examples: [null] })),
    ...shownMpcFields,
    notifications: Type.Optional(
      Type.Object(notificationFields, { description: 'What is told of a watched address. Watch wallets only.' }),
    ),
  }),
)

export const walletPageSchema = Type.Unsafe<Page<'wallets', WalletView>>(pageSchema('wallets', walletSchema as TSchema))

/** The settings that a request names, in the words of the domain; nothing for what it leaves out. */
export function notificationsOf(body: Static<typeof notificationsBody>): Partial<Notifications> {
  const { large_transfers, incoming_transactions, large_transfer_threshold_usd } = body
  return {
    ...(large_transfers === undefined ? {} : { largeTransfers: large_transfers }),
    ...(incoming_transactions === undefined ? {} : { incomingTransactions: incoming_transactions }),
    ...(large_transfer_threshold_usd === undefined ? {} : { largeTransferThresholdUsd: large_transfer_threshold_usd }),
  }
}
