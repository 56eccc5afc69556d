/** HTTP routes that redeem and revoke vouchers. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseRecipient } from '../../chain/address.ts'
import { Conflict } from '../../core/errors.ts'
import type { Accepted } from '../../event-log/accept.ts'
import { successOf } from '../../http/envelope.ts'
import { replyAccepted } from '../../http/reply-accepted.ts'
import type { Routes } from '../../http/request.ts'
import { MINED_WAIT_MS } from '../collections/routes.ts'
import type { NftContext } from '../nft-context.ts'
import { redeemVoucher, revokeVoucher, type Target } from './change-voucher.ts'
import { mintParams, mintSchema } from './mint-schemas.ts'
import type { MintView } from './mint-view.ts'
import { readMint } from './read-mints.ts'
import { redeemBody } from './voucher-schemas.ts'

const tags = ['NFT']

const redeem = {
  tags,
  operationId: 'redeemNftVoucher',
  summary: 'Redeem a voucher',
  description:
    "Mints the token of a LAZY mint with a transaction of the collection's wallet, which pays the gas. The transaction does not show " +
    'the signature of the voucher, and its holders can redeem it no longer once it is in a block. If a holder redeemed it first, for ' +
    'another address, the response is 409 `minted_to_another`. If the transaction fails, the mint is LAZY again.',
  params: mintParams,
  body: redeemBody,
  response: {
    200: successOf(mintSchema, 'The token is minted to the recipient.'),
    202: successOf(mintSchema, 'The redemption is accepted, and its token is not minted, or its transaction failed.'),
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
    202: successOf(mintSchema, 'The revocation is accepted, and not in a block, or its transaction failed.'),
  },
}

const unavailable = 'No node has reported its fees recently, or gas costs more than the cap.'
const waits = 'up to 15 seconds for the transaction to be in a block'

export function voucherRoutes(ctx: NftContext): Routes {
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
            409: 'The mint is not LAZY, its voucher was redeemed, also by somebody else while this request waited, or revoked, has expired or is not signed yet, or the wallet is archived.',
            503: unavailable,
          },
        },
      },
      (request, reply) =>
        change(ctx, request, reply, request.params.mint_id, {
          ask: (target) => redeemVoucher(ctx, target, request.body.recipient ?? null),
          isDone: (view, transactionId) => isRedeemed(view, transactionId, request.body.recipient),
        }),
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
            409: 'The mint is not LAZY, its voucher was redeemed, also while this request waited, or revoked, or the wallet is archived.',
            503: unavailable,
          },
        },
      },
      (request, reply) =>
        change(ctx, request, reply, request.params.mint_id, {
          ask: (target) => revokeVoucher(ctx, target),
          isDone: isRevoked,
        }),
    )
  }
}

/** @throws Conflict `minted_to_another`, `voucher_revoked` */
function isRedeemed(view: MintView, transactionId: string, named: string | undefined): boolean {
  if (view.status === 'REVOKED') throw new Conflict('voucher_revoked', 'The voucher was revoked: create a new mint.')
  if (view.status !== 'MINTED') return false
  const { owner, mint_id, token_id, voucher } = view
  const recipient = named === undefined ? (voucher?.recipient ?? null) : parseRecipient(named, 'recipient')
  if (owner === recipient) return true
  throw new Conflict(
    'minted_to_another',
    `Token ${token_id} was minted to ${owner ?? 'an unknown address'}, not to ${recipient}: a holder of the voucher redeemed it first, and transaction ${transactionId} minted nothing.`,
    { owner, recipient, mint_id, token_id, transaction_id: transactionId },
  )
}

/** @throws Conflict `already_redeemed` */
function isRevoked({ status, owner }: MintView): boolean {
  if (status !== 'MINTED') return status === 'REVOKED'
  throw new Conflict('already_redeemed', `The voucher was redeemed first: ${owner} has the token.`, { owner })
}

function change(
  { pool, transactions }: NftContext,
  request: FastifyRequest,
  reply: FastifyReply,
  mintId: string,
  {
    ask,
    isDone,
  }: {
    readonly ask: (target: Target) => Promise<Accepted>
    readonly isDone: (view: MintView, transactionId: string) => boolean
  },
) {
  const { tenantId, environment } = request.caller
  return replyAccepted(request, reply, {
    accept: (metadata) => ask({ environment, mintId, metadata }),
    async answer({ id: transactionId }, waitMs, over) {
      const limitMs = waitMs ?? MINED_WAIT_MS
      if (limitMs > 0) await transactions.untilMined(transactionId, limitMs, over)
      const view = await readMint(pool, { tenantId, environment }, mintId)
      return { code: isDone(view, transactionId) ? 200 : 202, view }
    },
  })
}
