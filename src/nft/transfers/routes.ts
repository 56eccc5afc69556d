/** HTTP routes that transfer tokens and read such transfers. */
import type { Static } from '@sinclair/typebox'
import { type ErrorItem, ValidationFailed } from '../../core/errors.ts'
import { success, successOf } from '../../http/envelope.ts'
import { replyAccepted } from '../../http/reply-accepted.ts'
import type { Routes } from '../../http/request.ts'
import type { NftContext } from '../nft-context.ts'
import type { NftTransferRequest } from './read-fields.ts'
import { readNftTransfer } from './read-transfers.ts'
import { requestNftTransfer } from './request-nft-transfer.ts'
import { transferBody, transferParams, transferSchema } from './schemas.ts'
import type { NftTransferView } from './view.ts'

const tags = ['NFT']

const transfer = {
  tags,
  operationId: 'transferNft',
  summary: 'Transfer tokens',
  description:
    'Sends tokens from one of your wallets. A transfer that cannot succeed is refused immediately: the wallet does not hold the ' +
    'token, or another transfer is sending it. A token that is still being minted for the wallet is sent when it is minted. The ' +
    'response waits a moment for the hash. Poll the transfer for its result. With `Prefer: wait=N` the response waits for the block.',
  body: transferBody,
  response: { 202: successOf(transferSchema, 'The transfer is accepted.') },
}

const read = {
  tags,
  operationId: 'getNftTransfer',
  summary: 'Get a token transfer',
  description: 'Returns a transfer with the status of each token.',
  params: transferParams,
  response: { 200: successOf(transferSchema, 'The transfer.') },
}

export function nftTransferRoutes(ctx: NftContext): Routes {
  const { pool } = ctx
  return (app) => {
    app.post(
      '/v1/nft/transfer',
      {
        schema: transfer,
        config: {
          scope: 'nft:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          waits: 'up to 2 seconds for the hash',
          refusals: {
            404: 'The collection does not exist.',
            409: 'Another transfer is already sending the token.',
            503: 'No node is available, or gas costs more than the cap.',
          },
        },
      },
      (request, reply) => {
        const owner = request.caller
        return replyAccepted(request, reply, {
          accept: (metadata) => requestNftTransfer(ctx, toTransferRequest(request.body), metadata, owner.environment),
          async answer({ id }, waitMs, over) {
            const view = await readNftTransfer(pool, owner, id)
            const waited = await waitFor(ctx, view, waitMs, over)
            return { code: 202, view: waited ? await readNftTransfer(pool, owner, id) : view }
          },
        })
      },
    )

    app.get('/v1/nft/transfers/:transfer_id', { schema: read, config: { scope: 'nft:read' } }, async (request) =>
      success(await readNftTransfer(pool, request.caller, request.params.transfer_id)),
    )
  }
}

/** @returns whether there is something new to read */
async function waitFor(
  { transactions: { untilSigned, untilMined }, config }: NftContext,
  { items }: NftTransferView,
  waitMs: number | null,
  over: AbortSignal,
): Promise<boolean> {
  const until = waitMs === null ? untilSigned : untilMined
  const open = items.filter(({ status, transaction_hash }) =>
    waitMs === null ? transaction_hash === null : status === 'PENDING',
  )
  const limitMs = waitMs ?? config.signWaitMs
  if (limitMs === 0 || open.length === 0) return false
  const transactions = new Set(open.map(({ transaction_id }) => transaction_id))
  await Promise.all([...transactions].map((id) => until(id, limitMs, over)))
  return true
}

/**
 * The type determines which fields belong together. @throws ValidationFailed naming each missing or unexpected field
 */
export function toTransferRequest(body: Static<typeof transferBody>): NftTransferRequest {
  const { collection_id: collectionId, from, token_id, to, amount, items, transfer_type: type = 'STANDARD' } = body
  const single = { token_id, to, amount }
  const mistakes: Omit<ErrorItem, 'type'>[] = []
  const need = (field: string) =>
    mistakes.push({ field, code: 'required', message: `${field} is required with transfer_type ${type}.` })
  const refuse = (field: string, instead: string) =>
    mistakes.push({
      field,
      code: 'not_with_type',
      message: `${field} is not allowed with transfer_type ${type}: ${instead}.`,
    })
  if (type === 'BATCH') {
    if (items === undefined) need('items')
    for (const [field, value] of Object.entries(single)) {
      if (value !== undefined) refuse(field, 'set it in each of items')
    }
  } else {
    if (items !== undefined) refuse('items', 'set transfer_type to BATCH, or send one token_id and to')
    if (token_id === undefined) need('token_id')
    if (to === undefined) need('to')
  }
  if (mistakes.length > 0) throw new ValidationFailed(mistakes)
  const wanted = items ?? [{ token_id: token_id ?? '', to: to ?? '', ...(amount === undefined ? {} : { amount }) }]
  return {
    collectionId,
    from,
    transferType: type,
    items: wanted.map((item) => ({ tokenId: item.token_id, to: item.to, amount: item.amount ?? null })),
  }
}
