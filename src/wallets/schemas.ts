/** Schemas of the requests and responses about wallets. */

import { type Static, Type } from '@sinclair/typebox'
import { AMOUNT_PATTERN } from '../core/money.ts'
import { named } from '../http/components.ts'
import { pageSchema } from '../http/paging.ts'
import {
  addressSchema,
  closedObject,
  environmentSchema,
  idSchema,
  idText,
  instant,
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

const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
/** More digits than any realistic amount. */
const MAX_USD_LENGTH = 30

const walletIdSchema = idSchema('wal', 'The id of the wallet. It never changes.')
const typeSchema = oneOf(WALLET_TYPES, {
  description: '`mpc` and `hd` wallets have a key here; a `watch` wallet only follows an address.',
  examples: ['hd'],
})
const ownAddressSchema = Type.String({
  description: 'The address of the wallet, with its EIP-55 checksum. Null until its key is created.',
  examples: [ADDRESS],
})
export const externalIdSchema = idText(64, {
  description:
    'Your own id for the wallet, without spaces at the start or the end. It is permanently unique among your wallets, including archived ones.',
  minLength: 1,
  examples: ['customer-42'],
})
/** Of a wallet. */
const MAX_TAGS = 20
const tagsSchema = Type.Array(text(64, { minLength: 1, examples: ['hot'] }), {
  description: 'The tags of the wallet, which rules of policies name. Sorted.',
  maxItems: MAX_TAGS,
  examples: [['hot']],
})
export const askedTagsSchema = {
  ...tagsSchema,
  description: `At most ${MAX_TAGS} tags, which rules of policies name. The API key needs \`policies:write\` for this field.`,
}
const statusSchema = oneOf(WALLET_STATUSES, {
  description: '`requested` until its key is created, then `active`; `archived` after it was deleted.',
  examples: ['active'],
})

export const walletParams = closedObject({ wallet_id: idSchema('wal', 'The id of the wallet.') })

/** No installation has more parties. */
const MAX_PARTIES = 20
const mpcFields = {
  threshold: Type.Integer({
    minimum: LEAST_SIGNERS,
    maximum: MAX_PARTIES,
    description: 'How many parties sign together. It is more than half of `parties`.',
    examples: [2],
  }),
  parties: Type.Integer({
    minimum: LEAST_SIGNERS,
    maximum: MAX_PARTIES,
    description: 'How many parties hold a share of the key.',
    examples: [3],
  }),
}
const shownKeyFields = {
  opened_from: Type.Optional(
    idSchema('wal', 'The wallet whose key and address this one uses on its network. Missing for a key of its own.'),
  ),
  mpc: Type.Optional(Type.Object(mpcFields, { description: 'How the key is divided. Only for mpc wallets.' })),
  public_key: Type.Optional(
    nullable(
      Type.String({
        description: 'The compressed public key, 33 bytes in hex. Only for mpc wallets; null until the key is created.',
        examples: ['0x038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75'],
      }),
    ),
  ),
}

export const createBody = closedObject(
  {
    type: oneOf(KEYED_TYPES, {
      description: '`mpc`: several parties hold a share of the key each. `hd`: the key is derived from a seed.',
      examples: ['hd'],
    }),
    network: networkSchema,
    label: Type.Optional(labelSchema),
    environment: Type.Optional(environmentSchema),
    external_id: Type.Optional(externalIdSchema),
    tags: Type.Optional(askedTagsSchema),
    mpc: Type.Optional(
      closedObject(mpcFields, {
        description: 'Only for mpc wallets: how to divide the key, if not as the installation is configured.',
      }),
    ),
  },
  { examples: [{ type: 'hd', network: 'ethereum', label: 'Treasury 🏦', external_id: 'customer-42' }] },
)

const notificationFields = {
  large_transfers: Type.Boolean({
    description: 'Notify about transfers of `large_transfer_threshold_usd` or more.',
    examples: [true],
  }),
  incoming_transactions: Type.Boolean({ description: 'Notify about every incoming transaction.', examples: [true] }),
  large_transfer_threshold_usd: Type.String({
    description: 'From how many US dollars on a transfer is large. The default is 10000.',
    pattern: AMOUNT_PATTERN,
    maxLength: MAX_USD_LENGTH,
    examples: ['10000'],
    'x-rule': 'must be US dollars as a decimal string such as "2500.50"',
    'x-code': 'invalid_amount',
  }),
}

const notificationsBody = named(
  'NotificationSettingsInput',
  closedObject(
    {
      large_transfers: Type.Optional(notificationFields.large_transfers),
      incoming_transactions: Type.Optional(notificationFields.incoming_transactions),
      large_transfer_threshold_usd: Type.Optional(notificationFields.large_transfer_threshold_usd),
    },
    { description: 'The notification settings of a watch wallet.' },
  ),
)

export const watchBody = closedObject({
  address: addressSchema,
  network: networkSchema,
  label: Type.Optional(labelSchema),
  environment: Type.Optional(environmentSchema),
  notifications: Type.Optional(notificationsBody),
})

export const reviseBody = closedObject(
  {
    label: Type.Optional(labelSchema),
    tags: Type.Optional({
      ...askedTagsSchema,
      description: `${askedTagsSchema.description} They replace those before.`,
    }),
    notifications: Type.Optional(notificationsBody),
  },
  { minProperties: 1 },
)

export const listQuery = {
  type: Type.Optional(oneOf(WALLET_TYPES, { description: 'Only wallets of this type.' })),
  network: Type.Optional(oneOf(networkSchema.enum, { description: 'Only wallets on this network.' })),
  label: Type.Optional(searchText(128, { description: 'Only wallets with exactly this label.' })),
  address: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only wallets with this address. Upper and lower case are equal.' }),
  ),
  external_id: Type.Optional(
    searchText(64, { description: 'Only the wallet with this `external_id`.', format: 'search-id' }),
  ),
  status: Type.Optional(
    oneOf(WALLET_STATUSES, {
      description: 'Only wallets with this status. Archived wallets are listed only with `archived`.',
    }),
  ),
}

/** The fields of the creation response and of every later read. */
const createdFields = {
  wallet_id: walletIdSchema,
  address: nullable(ownAddressSchema),
  type: typeSchema,
  network: networkSchema,
  label: labelSchema,
  tags: tagsSchema,
  created_at: instant('When the wallet was created.'),
  environment: environmentSchema,
  external_id: nullable(externalIdSchema),
  status: statusSchema,
}

export const createdSchema = named(
  'CreatedWallet',
  Type.Object({
    ...createdFields,
    ...shownKeyFields,
  }),
)

export const watchedSchema = named(
  'WatchedWallet',
  Type.Object({
    wallet_id: walletIdSchema,
    address: ownAddressSchema,
    type: oneOf(WALLET_TYPES, { description: 'Always `watch`.', examples: ['watch'] }),
    network: networkSchema,
    label: labelSchema,
  }),
)

const walletFields = {
  ...createdFields,
  archived_at: nullable(
    Type.String({
      format: 'date-time',
      description: 'When the wallet was archived. Null unless it is.',
      examples: [null],
    }),
  ),
  ...shownKeyFields,
  notifications: Type.Optional(
    named(
      'NotificationSettings',
      Type.Object(notificationFields, { description: 'The notification settings. Only for watch wallets.' }),
    ),
  ),
}

export const walletSchema = named('Wallet', Type.Object(walletFields))

export const walletAtEventSchema = named(
  'WalletAtEvent',
  Type.Object({
    ...walletFields,
    tags: Type.Optional({ ...tagsSchema, description: 'The tags of the wallet. Missing if it has none.' }),
  }),
)

export const walletPageSchema = named('WalletPage', pageSchema('wallets', walletSchema))

/** The settings in a request, converted to the domain's type; omitted ones are absent. */
export function notificationsOf(body: Static<typeof notificationsBody>): Partial<Notifications> {
  const { large_transfers, incoming_transactions, large_transfer_threshold_usd } = body
  return {
    ...(large_transfers === undefined ? {} : { largeTransfers: large_transfers }),
    ...(incoming_transactions === undefined ? {} : { incomingTransactions: incoming_transactions }),
    ...(large_transfer_threshold_usd === undefined ? {} : { largeTransferThresholdUsd: large_transfer_threshold_usd }),
  }
}
