/** Redeeming and revoking vouchers: parse, call, reply. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { success, successOf } from '../../http/envelope.ts'
import { markReplayed } from '../../http/idempotency.ts'
import { applyPreference, preferenceOf } from '../../http/prefer.ts'
import type { Routes } from '../../http/request.ts'
import { metadataOf } from '../../http/request-metadata.ts'
import type { TransactionReads } from '../../transactions/read-transactions.ts'
import { MINED_WAIT_MS } from '../collections/routes.ts'
import type { MintReads } from '../mints/read-mints.ts'
import { mintParams, mintSchema } from '../mints/schemas.ts'
import type { ChangedVoucher, ChangeVoucher } from './change-voucher.ts'
import { redeemBody } from './schemas.ts'

export type VoucherRoutePorts = {
  readonly changeVoucher: ChangeVoucher
  readonly reads: MintReads
  readonly untilMined: TransactionReads['untilMined']
}

const tags = ['NFT']

const redeem = {
  tags,
  summary: 'Redeem a voucher',
  description:
    "Mints the token of a LAZY mint, by a transaction of the collection's wallet, which pays the gas. A voucher redeems once: the " +
    'contract takes each token id once. When the transaction fails, the mint is LAZY again.',
  params: mintParams,
  body: redeemBody,
  response: {
    200: successOf(mintSchema, 'The token is minted.'),
    202: successOf(mintSchema, 'The redemption is accepted and on the way.'),
  },
}

const revoke = {
  tags,
  summary: 'Revoke a voucher',
  description:
    "Ends the voucher of a LAZY mint on chain, by a transaction of the collection's wallet: its token can never be minted. Until that " +
    'is in a block, somebody who holds the voucher may still redeem it; which came first, the chain says.',
  params: mintParams,
  response: {
    200: successOf(mintSchema, 'The voucher is revoked.'),
    202: successOf(mintSchema, 'The revocation is accepted and on the way.'),
  },
}

const unavailable = 'No node has told its fees lately, or gas costs more than the cap.'
const waits = 'for the transaction to be in a block, 15 seconds at most'

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
      async (request, reply) => {
        const recipient = request.body.recipient ?? null
        const changed = await changeVoucher.redeem(targetOf(request, request.params.mint_id), recipient)
        return answer(ports, request, reply, { ...changed, mintId: request.params.mint_id })
      },
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
            409: 'The mint is not LAZY, its voucher was redeemed or revoked already, or the wallet is archived.',
            503: unavailable,
          },
        },
      },
      async (request, reply) => {
        const changed = await changeVoucher.revoke(targetOf(request, request.params.mint_id))
        return answer(ports, request, reply, { ...changed, mintId: request.params.mint_id })
      },
    )
  }
}

function targetOf(request: FastifyRequest, mintId: string) {
  return { environment: request.caller.environment, mintId, metadata: metadataOf(request) }
}

async function answer(
  { reads, untilMined }: VoucherRoutePorts,
  request: FastifyRequest,
  reply: FastifyReply,
  { transactionId, replayed, mintId }: ChangedVoucher & { readonly mintId: string },
) {
  if (replayed) markReplayed(reply)
  const preference = preferenceOf(request)
  applyPreference(reply, preference)
  const waitMs = preference.waitMs ?? MINED_WAIT_MS
  const settled = waitMs > 0 && (await untilMined(transactionId, waitMs)) !== null
  const { tenantId, environment } = request.caller
  const view = await reads.read({ tenantId, environment }, mintId)
  return reply.code(settled ? 200 : 202).send(success(view))
}
