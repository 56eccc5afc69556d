/** HTTP routes that redeem and revoke vouchers. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { successOf } from '../../http/envelope.ts'
import { replyAccepted } from '../../http/reply-accepted.ts'
import type { Routes } from '../../http/request.ts'
import type { TransactionReads } from '../../transactions/read-transactions.ts'
import { MINED_WAIT_MS } from '../collections/routes.ts'
import type { ChangeVoucher } from './change-voucher.ts'
import { mintParams, mintSchema } from './mint-schemas.ts'
import type { MintReads } from './read-mints.ts'
import { redeemBody } from './voucher-schemas.ts'

export type VoucherRoutePorts = {
  readonly changeVoucher: ChangeVoucher
  readonly reads: MintReads
  readonly untilMined: TransactionReads['untilMined']
}

const tags = ['NFT']

const redeem = {
  tags,
  operationId: 'redeemNftVoucher',
  summary: 'Redeem a voucher',
  description:
    "Mints the token of a LAZY mint with a transaction of the collection's wallet, which pays the gas. A voucher can be redeemed " +
    'once, because the contract accepts each token id once. If the transaction fails, the mint is LAZY again.',
  params: mintParams,
  body: redeemBody,
  response: {
    200: successOf(mintSchema, 'The token is minted.'),
    202: successOf(mintSchema, 'The redemption is accepted. Its transaction is not in a block yet.'),
  },
}

const revoke = {
  tags,
  operationId: 'revokeNftVoucher',
  summary: 'Revoke a voucher',
  description:
    "Revokes the voucher of a LAZY mint on chain with a transaction of the collection's wallet. Its token can then never be minted. " +
    'Until the transaction is in a block, a holder of the voucher can still redeem it. The transaction that is mined first wins.',
  params: mintParams,
  response: {
    200: successOf(mintSchema, 'The voucher is revoked.'),
    202: successOf(mintSchema, 'The revocation is accepted. Its transaction is not in a block yet.'),
  },
}

const unavailable = 'No node has reported its fees recently, or gas costs more than the cap.'
const waits = 'up to 15 seconds for the transaction to be in a block'

export function voucherRoutes(ports: VoucherRoutePorts): Routes {
  const { changeVoucher } = ports
  return (app) => {
    app.post(
      '/v1/nft/mints/:mint_id/redeem',
      {
        schema: redeem,
        config: {
          scope: 'nft:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          waits,
          refusals: {
            409: 'The mint is not LAZY, its voucher was redeemed or revoked, has expired or is not signed yet, or the wallet is archived.',
            503: unavailable,
          },
        },
      },
      (request, reply) =>
        change(ports, request, reply, request.params.mint_id, (target) =>
          changeVoucher.redeem(target, request.body.recipient ?? null),
        ),
    )

    app.post(
      '/v1/nft/mints/:mint_id/revoke',
      {
        schema: revoke,
        config: {
          scope: 'nft:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          waits,
          refusals: {
            409: 'The mint is not LAZY, its voucher was already redeemed or revoked, or the wallet is archived.',
            503: unavailable,
          },
        },
      },
      (request, reply) => change(ports, request, reply, request.params.mint_id, changeVoucher.revoke),
    )
  }
}

function change(
  { reads, untilMined }: VoucherRoutePorts,
  request: FastifyRequest,
  reply: FastifyReply,
  mintId: string,
  ask: ChangeVoucher['revoke'],
) {
  const { tenantId, environment } = request.caller
  return replyAccepted(request, reply, {
    accept: (metadata) => ask({ environment, mintId, metadata }),
    async answer({ id: transactionId }, waitMs) {
      const limitMs = waitMs ?? MINED_WAIT_MS
      const mined = limitMs > 0 && (await untilMined(transactionId, limitMs)) !== null
      return { code: mined ? 200 : 202, view: await reads.read({ tenantId, environment }, mintId) }
    },
  })
}
