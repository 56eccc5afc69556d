/** HTTP routes that read the deliveries of a webhook, and send something to it: a test, one delivery, or the past. */
import type { ApiPart, RouteContext } from '../api-context.ts'
import { toInstant } from '../core/ids.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf } from '../http/paging.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { App, Routes } from '../http/request.ts'
import {
  deliveriesQuery,
  deliveryDetailSchema,
  deliveryPageSchema,
  deliveryParams,
  replayBody,
  replayPageSchema,
  replayParams,
  replaySchema,
  replaysQuery,
  testSchema,
} from './delivery-schemas.ts'
import type { DeliveryView, ReplayView } from './delivery-view.ts'
import { listDeliveries, readDelivery } from './read-deliveries.ts'
import { listReplays, readReplay } from './read-replays.ts'
import { readWebhook } from './read-webhooks.ts'
import { requestReplay, requestRetry, requestTest, testEventIdOf } from './request-replay.ts'
import { deliveredTypes, type WebhookContext } from './require-terms.ts'
import { NOT_READABLE, webhookRoutes } from './routes.ts'
import { webhookParams } from './schemas.ts'
import { requireSealing } from './secrets.ts'

const tags = ['Webhooks']
const readAccess = { scope: 'webhooks:read' } as const
const writeAccess = { scope: 'webhooks:write' } as const

const list = {
  tags,
  operationId: 'listWebhookDeliveries',
  summary: 'List deliveries',
  description:
    'Lists the deliveries of a webhook, newest first: those that wait, and those that ended in the last 30 days.',
  params: webhookParams,
  querystring: deliveriesQuery,
  response: { 200: successOf(deliveryPageSchema, 'A page of deliveries.') },
}

const detail = {
  tags,
  operationId: 'getWebhookDelivery',
  summary: 'Get a delivery',
  description: 'Returns one delivery with its attempts.',
  params: deliveryParams,
  response: { 200: successOf(deliveryDetailSchema, 'The delivery.') },
}

const retry = {
  tags,
  operationId: 'retryWebhookDelivery',
  summary: 'Retry a delivery',
  description:
    'Attempts exactly this delivery again at once, whatever its state, with the same event id and the same body: also while the webhook ' +
    'pauses, or earlier events of the same resource wait. A delivery that was given up gets one more attempt. The API key must be ' +
    'allowed to read what it sends.',
  params: deliveryParams,
  response: { 200: successOf(deliveryDetailSchema, 'The delivery, which is pending again.') },
}

const test = {
  tags,
  operationId: 'testWebhook',
  summary: 'Test a webhook',
  description:
    'Sends an event of type `webhook.test` to this webhook alone, whatever its filters, at once, also while it pauses.',
  params: webhookParams,
  response: { 202: successOf(testSchema, 'The event is recorded, and will be sent.') },
}

const replay = {
  tags,
  operationId: 'replayWebhook',
  summary: 'Replay events to a webhook',
  description:
    'Sends past events again, of any age, with the same ids and bodies, and in order for each resource. It starts at `after` or ' +
    '`from`, or else at the oldest event, and ends at `to`, or else at this request. It sends what the webhook gets at the time of this ' +
    'request, including events from before it was created. New events are sent at the same time: compare `resource.version`. ' +
    'The API key must be allowed to read what is sent; with `only_failed`, what the webhook was ever set to send.',
  params: webhookParams,
  body: replayBody,
  response: {
    202: successOf(
      replaySchema,
      'The replay is accepted. `GET /v1/webhooks/{webhook_id}/replays/{replay_id}` returns its progress.',
    ),
  },
}

const replayList = {
  tags,
  operationId: 'listWebhookReplays',
  summary: 'List replays',
  description: 'Lists the replays of a webhook, newest first, with the number of deliveries that each has queued.',
  params: webhookParams,
  querystring: replaysQuery,
  response: { 200: successOf(replayPageSchema, 'A page of replays.') },
}

const replayDetail = {
  tags,
  operationId: 'getWebhookReplay',
  summary: 'Get a replay',
  description: 'Returns one replay, with the number of deliveries that it has queued.',
  params: replayParams,
  response: { 200: successOf(replaySchema, 'The replay.') },
}

/**
 * Routes of webhooks and of their deliveries.
 *
 * @throws InvalidSetting for a WEBHOOK_RECIPIENT to which nothing can be sealed
 */
export async function webhookApi(context: RouteContext): Promise<ApiPart> {
  await requireSealing(context)
  const ctx = { ...context, delivered: deliveredTypes(context.publicTypes) }
  return { routes: [webhookRoutes(ctx), deliveryRoutes(ctx)] }
}

export function deliveryRoutes(ctx: WebhookContext): Routes {
  return (app) => {
    addDeliveries(app, ctx)
    addRequests(app, ctx)
    addReplays(app, ctx)
  }
}

function addDeliveries(app: App, ctx: WebhookContext): void {
  app.get('/v1/webhooks/:webhook_id/deliveries', { schema: list, config: readAccess }, async (request) => {
    const { caller, params, query } = request
    const { webhook_id } = await readWebhook(ctx, caller, params.webhook_id)
    const { limit, cursor, state } = query
    const [before] = cursor === undefined ? [] : decodeCursor('deliveries', 1, cursor)
    const found = await listDeliveries(ctx, webhook_id, { state, before, limit: limit + 1 })
    const keyOf = (view: DeliveryView) => [view.delivery_id]
    return success(pageOf('deliveries', { found, limit, keyOf, present: (view) => view }))
  })

  app.get(
    '/v1/webhooks/:webhook_id/deliveries/:delivery_id',
    { schema: detail, config: readAccess },
    async (request) => {
      const { caller, params } = request
      const { webhook_id } = await readWebhook(ctx, caller, params.webhook_id)
      return success(await readDelivery(ctx, webhook_id, params.delivery_id))
    },
  )

  app.post(
    '/v1/webhooks/:webhook_id/deliveries/:delivery_id/retry',
    { schema: retry, config: { ...writeAccess, idempotent: true, quotas: [], refusals: NOT_READABLE } },
    async (request, reply) => {
      const { caller, params } = request
      const { delivery_id } = params
      const { webhook_id } = await readWebhook(ctx, caller, params.webhook_id)
      return replyAccepted(request, reply, {
        accept: (metadata) => requestRetry(ctx, caller, { webhookId: webhook_id, deliveryId: delivery_id }, metadata),
        answer: async () => ({ code: 200, view: await readDelivery(ctx, webhook_id, delivery_id) }),
      })
    },
  )
}

function addRequests(app: App, ctx: WebhookContext): void {
  const config = { ...writeAccess, idempotent: true, quotas: [] }
  app.post(
    '/v1/webhooks/:webhook_id/test',
    { schema: test, config: { ...config, refusals: { 409: 'The webhook is disabled: `webhook_disabled`.' } } },
    async (request, reply) => {
      const { webhook_id } = await readWebhook(ctx, request.caller, request.params.webhook_id)
      return replyAccepted(request, reply, {
        accept: (metadata) => requestTest(ctx, webhook_id, metadata),
        answer: async ({ id }) => ({ code: 202, view: { webhook_id, event_id: testEventIdOf(id) } }),
      })
    },
  )

  const refusals = { 409: 'The webhook has 10 replays that run: `too_many_replays`.', ...NOT_READABLE }
  app.post(
    '/v1/webhooks/:webhook_id/replay',
    { schema: replay, config: { ...config, refusals } },
    async (request, reply) => {
      const { caller, params, body } = request
      const { webhook_id } = await readWebhook(ctx, caller, params.webhook_id)
      const { after = null, from, to, types = null, only_failed: onlyFailed } = body
      const range = { after, from: utc(from), to: utc(to), types, onlyFailed }
      return replyAccepted(request, reply, {
        accept: (metadata) => requestReplay(ctx, caller, webhook_id, range, metadata),
        answer: async ({ id }) => ({ code: 202, view: await readReplay(ctx, webhook_id, id) }),
      })
    },
  )
}

function addReplays(app: App, ctx: WebhookContext): void {
  app.get('/v1/webhooks/:webhook_id/replays', { schema: replayList, config: readAccess }, async (request) => {
    const { caller, params, query } = request
    const { webhook_id } = await readWebhook(ctx, caller, params.webhook_id)
    const { limit, cursor } = query
    const [before] = cursor === undefined ? [] : decodeCursor('replays', 1, cursor)
    const found = await listReplays(ctx, webhook_id, { before, limit: limit + 1 })
    const keyOf = (view: ReplayView) => [view.replay_id]
    return success(pageOf('replays', { found, limit, keyOf, present: (view) => view }))
  })

  app.get(
    '/v1/webhooks/:webhook_id/replays/:replay_id',
    { schema: replayDetail, config: readAccess },
    async (request) => {
      const { caller, params } = request
      const { webhook_id } = await readWebhook(ctx, caller, params.webhook_id)
      return success(await readReplay(ctx, webhook_id, params.replay_id))
    },
  )
}

function utc(time: string | undefined): string | null {
  return time === undefined ? null : toInstant(Date.parse(time))
}
