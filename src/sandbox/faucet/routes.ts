/** `POST /v1/sandbox/faucet`: test funds for the local chains. The route exists in the sandbox only. */

import { Type } from '@sinclair/typebox'
import { parseRecipient } from '../../chain/address.ts'
import { NO_CALLER_FIELDS } from '../../core/caller-fields.ts'
import { Unavailable } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import { NATIVE_SYMBOL } from '../../core/networks.ts'
import { named } from '../../http/components.ts'
import { successOf } from '../../http/envelope.ts'
import { replyAccepted } from '../../http/reply-accepted.ts'
import type { Routes } from '../../http/request.ts'
import { addressSchema, amountSchema, closedObject, idSchema, networkSchema } from '../../http/schemas.ts'
import { requestTransfer } from '../../transactions/request-transfer.ts'
import type { SendContext } from '../../transactions/send-context.ts'
import { FAUCET_TENANT, findFaucetWallet } from './faucet-wallet.ts'

const MINED_WAIT_MS = 15_000
const DEFAULT_AMOUNT = '10'
/** Default fields of a payment. */
const PLAIN = { gasPriority: 'medium', ...NO_CALLER_FIELDS } as const

const faucet = {
  tags: ['Sandbox'],
  operationId: 'requestFaucetFunds',
  summary: 'Request test funds',
  description:
    'Sends test funds to an address on a local chain. The response is sent when the payment is in a block, so that the balance ' +
    'includes it. Available in the sandbox only.',
  body: closedObject({
    address: addressSchema,
    network: networkSchema,
    asset: Type.Optional(
      Type.String({
        description: 'The symbol or contract address of the asset. The default is the native currency.',
        maxLength: 64,
        examples: ['ETH'],
      }),
    ),
    amount: Type.Optional({ ...amountSchema, default: DEFAULT_AMOUNT, examples: [DEFAULT_AMOUNT] }),
  }),
  response: {
    201: successOf(
      named(
        'FaucetPayment',
        Type.Object({
          transaction_id: idSchema('tx', 'The id of the payment. It belongs to the faucet: look it up by its hash.'),
          hash: Type.String({
            description: 'The hash of the transaction.',
            examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
          }),
          address: addressSchema,
          network: networkSchema,
          asset: Type.String({ description: 'The symbol of the asset.', examples: ['ETH'] }),
          amount: amountSchema,
        }),
      ),
      'The payment is in a block.',
    ),
  },
}

export function faucetRoutes(ctx: SendContext): Routes {
  const { pool, transactions } = ctx
  return (app) => {
    app.post(
      '/v1/sandbox/faucet',
      { schema: faucet, config: { scope: 'transactions:write', idempotent: true, quotas: [] } },
      (request, reply) => {
        const { address, network, asset = NATIVE_SYMBOL[network], amount = DEFAULT_AMOUNT } = request.body
        const wanted = { to: parseRecipient(address, 'address'), amount, asset }
        return replyAccepted(request, reply, {
          async accept(metadata) {
            const { walletId } = await findFaucetWallet(pool, network)
            return requestTransfer(ctx, { ...PLAIN, ...wanted, walletId }, faucetMetadata(metadata), 'mainnet')
          },
          async answer({ id }) {
            await transactions.untilMined(id, MINED_WAIT_MS)
            const { hash, state, to, asset, amount } = await transactions.readById(FAUCET_TENANT, id)
            if (hash === null || !['mined', 'confirmed'].includes(state)) {
              const rule = `The payment ${id} is not in a block yet. It continues: check the balance later.`
              throw new Unavailable('faucet_slow', rule)
            }
            return { code: 201, view: { transaction_id: id, hash, address: to, network, asset, amount } }
          },
        })
      },
    )
  }
}

/** The faucet pays for every tenant: equal idempotency keys of two tenants must be distinguished. */
function faucetMetadata({ idempotency, ...metadata }: Metadata): Metadata {
  const { tenantId } = metadata
  const own =
    idempotency === undefined ? {} : { idempotency: { ...idempotency, key: `${tenantId}/${idempotency.key}` } }
  return { ...metadata, ...own, tenantId: FAUCET_TENANT }
}
