/** Moving tokens, and what became of it: parse, call, reply. */
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { type ErrorItem, ValidationFailed } from '../../core/errors.ts'
import { type FindReplay, replayInsteadOf } from '../../event-log/find-replay.ts'
import type { WaitUntil } from '../../event-log/wait-until.ts'
import { success, successOf } from '../../http/envelope.ts'
import { markReplayed } from '../../http/idempotency.ts'
import { applyPreference, preferenceOf } from '../../http/prefer.ts'
import type { Routes } from '../../http/request.ts'
import { metadataOf } from '../../http/request-metadata.ts'
import type { NftTransferRequest } from './read-fields.ts'
import type { NftTransferReads } from './read-transfers.ts'
import type { RequestNftTransfer } from './request-transfer.ts'
import { transferBody, transferParams, transferSchema } from './schemas.ts'
import type { NftTransferView } from './view.ts'

export type NftTransferRoutePorts = {
  readonly requestTransfer: RequestNftTransfer
  readonly findReplay: FindReplay
  readonly reads: NftTransferReads
  readonly untilSigned: WaitUntil<unknown>
  readonly untilMined: WaitUntil<unknown>
  /** How long an answer waits for the hash when the caller does not say. */
  readonly signWaitMs: number
}

const tags = ['NFT']

const transfer = {
  tags,
  summary: 'Transfer tokens',
  description:
    'Moves tokens from a wallet of yours. What is known to be impossible is refused at once: a token that the wallet does not ' +
    'hold, or that another transfer is taking. A token that is still being minted for the wallet is moved once it is there. ' +
    'The answer waits a moment for the hash; poll the transfer for what follows. With `Prefer: wait=N` it waits for the block.',
  body: transferBody,
  response: { 202: successOf(transferSchema, 'The transfer was accepted.') },
}

const read = {
  tags,
  summary: 'Read a transfer of tokens',
  description: 'What became of a transfer, token by token.',
  params: transferParams,
  response: { 200: successOf(transferSchema, 'The transfer.') },
}

export function nftTransferRoutes(ports: NftTransferRoutePorts): Routes {
  const { requestTransfer, findReplay, reads } = ports
  return (app) => {
    app.post(
      '/v1/nft/transfer',
      {
        schema: transfer,
        config: {
          scope: 'nft:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          waits: 'for the hash, 2 seconds at most',
          refusals: {
            404: 'There is no such collection.',
            409: 'Another transfer takes the token already.',
            503: 'No node answers, or gas costs more than the cap.',
          },
        },
      },
      async (request, reply) => {
        const metadata = metadataOf(request)
        const opened = await requestTransfer(toRequest(request.body), metadata, request.caller.environment).catch(
          (error) => replayInsteadOf(error, findReplay, metadata),
        )
        if (opened.replayed) markReplayed(reply)
        const view = await reads.read(ownerOf(request), opened.id)
        const preference = preferenceOf(request)
        applyPreference(reply, preference)
        const waited = await waitFor(ports, view, preference.waitMs)
        return reply.code(202).send(success(waited ? await reads.read(ownerOf(request), opened.id) : view))
      },
    )

    app.get('/v1/nft/transfers/:transfer_id', { schema: read, config: { scope: 'nft:read' } }, async (request) =>
      success(await reads.read(ownerOf(request), request.params.transfer_id)),
    )
  }
}

/** @returns whether there is something new to read */
async function waitFor(
  { untilSigned, untilMined, signWaitMs }: NftTransferRoutePorts,
  { items }: NftTransferView,
  waitMs: number | null,
): Promise<boolean> {
  const until = waitMs === null ? untilSigned : untilMined
  const open = items.filter(({ status, transaction_hash }) =>
    waitMs === null ? transaction_hash === null : status === 'PENDING',
  )
  const limitMs = waitMs ?? signWaitMs
  if (limitMs === 0 || open.length === 0) return false
  const transactions = new Set(open.map(({ transaction_id }) => transaction_id))
  await Promise.all([...transactions].map((id) => until(id, limitMs)))
  return true
}

function ownerOf({ caller }: FastifyRequest) {
  return { tenantId: caller.tenantId, environment: caller.environment }
}

/** Which fields belong together depends on the type. @throws ValidationFailed naming each that is missing or too much */
function toRequest(body: Static<typeof transferBody>): NftTransferRequest {
  const { collection_id: collectionId, from, token_id, to, amount, items, transfer_type: type = 'STANDARD' } = body
  const single = { token_id, to, amount }
  const mistakes: Omit<ErrorItem, 'type'>[] = []
  const need = (field: string) =>
    mistakes.push({ field, code: 'required', message: `${field} is required with ${type}.` })
  const refuse = (field: string, instead: string) =>
    mistakes.push({ field, code: 'not_with_type', message: `${field} does not go with ${type}: ${instead}.` })
  if (type === 'BATCH') {
    if (items === undefined) need('items')
    for (const [field, value] of Object.entries(single)) {
      if (value !== undefined) refuse(field, 'name it in each of items')
    }
  } else {
    if (items !== undefined) refuse('items', 'set transfer_type to BATCH, or name one token_id and to')
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
