/** `POST /v1/sandbox/faucet`: play money for the local chains. The route exists in the sandbox only. */
import { Type } from '@sinclair/typebox'
import type { Pool } from 'pg'
import { parseRecipient } from '../chain/address.ts'
import { Unavailable } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { NATIVE_SYMBOL } from '../core/networks.ts'
import { success, successOf } from '../http/envelope.ts'
import { markReplayed } from '../http/idempotency.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import { addressSchema, amountSchema, closedObject, idSchema, networkSchema } from '../http/schemas.ts'
import type { TransactionReads } from '../transactions/read-transactions.ts'
import type { RequestTransfer } from '../transactions/request-transfer.ts'
import { FAUCET_TENANT, findFaucetWallet } from './faucet-wallet.ts'

const MINED_WAIT_MS = 15_000
const DEFAULT_AMOUNT = '10'

const faucet = {
  tags: ['Sandbox'],
  summary: 'Get play money',
  description:
    'Pays an address on a local chain and answers once the payment is in a block, so that the balance shows it.',
  body: closedObject({
    address: addressSchema,
    network: networkSchema,
    asset: Type.Optional(
      Type.String({ description: 'The native currency unless it is named.', maxLength: 64, examples: ['ETH'] }),
    ),
    amount: Type.Optional({ ...amountSchema, default: DEFAULT_AMOUNT, examples: [DEFAULT_AMOUNT] }),
  }),
  response: {
    201: successOf(
      Type.Object({
        transaction_id: idSchema(
          'transaction',
          'The payment. It belongs to the faucet, so only its hash can be looked up.',
        ),
        hash: Type.String({ examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'] }),
        address: addressSchema,
        network: networkSchema,
        asset: Type.String({ examples: ['ETH'] }),
        amount: amountSchema,
      }),
      'The payment is in a block.',
    ),
  },
}

export type FaucetPorts = {
  readonly pool: Pool
  readonly requestTransfer: RequestTransfer
  readonly reads: TransactionReads
}

export function faucetRoutes({ pool, requestTransfer, reads }: FaucetPorts): Routes {
  return (app) => {
    app.post(
      '/v1/sandbox/faucet',
      { schema: faucet, config: { scope: 'transactions:write', idempotent: true, quotas: [] } },
      async (request, reply) => {
        const { address, network, asset = NATIVE_SYMBOL[network], amount = DEFAULT_AMOUNT } = request.body
        const { walletId } = await findFaucetWallet(pool, network)
        const transfer = {
          walletId,
          to: parseRecipient(address, 'address'),
          amount,
          asset,
          gasPriority: 'medium' as const,
          referenceId: null,
          memo: null,
          validUntil: null,
        }
        const { transactionId, view } = await requestTransfer(transfer, faucetMetadata(metadataOf(request)), 'mainnet')
        if (view === null) markReplayed(reply)
        await reads.untilMined(transactionId, MINED_WAIT_MS)
        const paid = await reads.readById(FAUCET_TENANT, transactionId)
        const { hash, state } = paid
        if (hash === null || !['mined', 'confirmed'].includes(state)) {
          throw new Unavailable(
            'faucet_slow',
            `The payment ${transactionId} is not in a block yet: it goes on, look at the balance.`,
          )
        }
        return reply.code(201).send(
          success({
            transaction_id: transactionId,
            hash,
            address: paid.to,
            network,
            asset: paid.asset,
            amount: paid.amount,
          }),
        )
      },
    )
  }
}

/** The faucet pays for every tenant: a key of one must never be taken for the same key of another. */
function faucetMetadata({ idempotency, ...metadata }: Metadata): Metadata {
  const { tenantId } = metadata
  const own =
    idempotency === undefined ? {} : { idempotency: { ...idempotency, key: `${tenantId}/${idempotency.key}` } }
  return { ...metadata, ...own, tenantId: FAUCET_TENANT }
}
