/** Schemas of the requests and responses about many wallets: of a batch, or of one key on several networks. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { closedObject, idSchema, labelSchema, networkSchema } from '../http/schemas.ts'
import { askedTagsSchema, createBody, createdSchema, externalIdSchema } from './schemas.ts'

/** Wallets of one batch. */
const MAX_WALLETS = 1_000

const { type: typeField, environment: environmentField, mpc: mpcField } = createBody.properties
export const walletsBody = closedObject(
  {
    type: typeField,
    network: networkSchema,
    items: Type.Array(
      closedObject({
        label: Type.Optional({
          ...labelSchema,
          description: `${labelSchema.description} The default is that of the batch.`,
        }),
        external_id: Type.Optional(externalIdSchema),
      }),
      {
        description: `The wallets, 1 to ${MAX_WALLETS}. An item may be empty.`,
        minItems: 1,
        maxItems: MAX_WALLETS,
        examples: [[{ external_id: 'customer-42' }, { external_id: 'customer-43' }]],
      },
    ),
    label: Type.Optional({ ...labelSchema, description: 'Of each item that has none.' }),
    environment: environmentField,
    tags: Type.Optional({ ...askedTagsSchema, description: `Of each wallet. ${askedTagsSchema.description}` }),
    mpc: mpcField,
  },
  {
    examples: [
      { type: 'hd', network: 'ethereum', items: [{ external_id: 'customer-42' }, { external_id: 'customer-43' }] },
    ],
  },
)

export const openNetworksBody = closedObject(
  {
    networks: Type.Array(networkSchema, {
      description: 'The networks, each once. One where the key has a wallet keeps it.',
      minItems: 1,
      maxItems: networkSchema.enum.length,
      uniqueItems: true,
      examples: [['polygon', 'binance']],
    }),
    label: Type.Optional({ ...labelSchema, description: 'Of the new wallets. The default is that of the wallet.' }),
  },
  { examples: [{ networks: ['polygon', 'binance'] }] },
)

export const walletBatchSchema = named(
  'WalletBatch',
  Type.Object({
    batch_id: idSchema('walb', 'The id of the batch.'),
    wallets: Type.Array(createdSchema, { description: 'One wallet for each item, in the order of the items.' }),
  }),
)

export const openedNetworksSchema = named(
  'OpenedNetworks',
  Type.Object({
    wallets: Type.Array(createdSchema, { description: 'The wallet of each network, in the order of the request.' }),
  }),
)
