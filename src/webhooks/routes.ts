/** HTTP routes that create, read and change webhooks. */
import { type Caller, environmentOf } from '../http/caller.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf } from '../http/paging.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { App, Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  rotateSecret,
  type ShownSecret,
  sendWaiting,
} from './manage-webhooks.ts'
import { listWebhooks, readWebhook } from './read-webhooks.ts'
import type { WebhookContext } from './require-terms.ts'
import {
  createBody,
  listQuery,
  rotateBody,
  updateBody,
  webhookPageSchema,
  webhookParams,
  webhookSchema,
  webhookWithSecretSchema,
} from './schemas.ts'
import { untilChanged } from './terms.ts'
import type { WebhookView } from './view.ts'

const tags = ['Webhooks']
const answer = { 200: successOf(webhookSchema, 'The webhook.') }
const readAccess = { scope: 'webhooks:read' } as const
const writeAccess = { scope: 'webhooks:write' } as const
const NOT_CONFIGURED = { 503: 'The operator has not set WEBHOOK_RECIPIENT: `webhooks_not_configured`.' }
export const NOT_READABLE = { 403: 'The API key may not read what the webhook would send: `event_scope_missing`.' }

const create = {
  tags,
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'Sends the events of your tenant in the environment of the API key to a URL, from now on. Each event is sent at least once, ' +
    'signed (Standard Webhooks 1.0.0), and in order for each resource. Only this response contains the secret that verifies the signatures. ' +
    'The API key must be allowed to read what is sent: it needs `events:read` and, for `full` payloads, the scope of each type.',
  body: createBody,
  response: { 201: successOf(webhookWithSecretSchema, 'The webhook, with its secret.') },
}

const list = {
  tags,
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description: 'Lists your webhooks, newest first, with the state of their receivers. Deleted webhooks are not listed.',
  querystring: listQuery,
  response: { 200: successOf(webhookPageSchema, 'A page of webhooks.') },
}

const detail = {
  tags,
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  description: 'Returns one webhook, with the state of its receiver. Its secret is not returned.',
  params: webhookParams,
  response: answer,
}

const update = {
  tags,
  operationId: 'updateWebhook',
  summary: 'Update a webhook',
  description:
    'Changes the URL, the description, the filters or the payload. Omitted fields keep their values. `types`, `wallet_ids` and ' +
    '`payload` count for the events after the change in the log: those before it are sent as you had chosen, also if they wait. ' +
    'Events that wait for their delivery are sent to the new URL at once. The API key must be allowed to read what is sent, as for a new webhook, and for another URL also what it was ever set to send.',
  params: webhookParams,
  body: updateBody,
  response: answer,
}

const remove = {
  tags,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description:
    'Deletes the webhook. After the response no delivery begins any more, also of events that wait. This cannot be undone. ' +
    'Deleting it again returns the same response.',
  params: webhookParams,
  response: answer,
}

const rotate = {
  tags,
  operationId: 'rotateWebhookSecret',
  summary: 'Rotate the secret of a webhook',
  description:
    'Creates a new secret, and with `v1a` a new `public_key`. Only this response contains the secret. For `overlap_hours`, each delivery ' +
    'is signed with the new secret and with the previous ones, so that you can replace the secret in your receiver without refusing a delivery. ' +
    'The API key must be allowed to read what is sent, as for a new webhook.',
  params: webhookParams,
  body: rotateBody,
  response: { 200: successOf(webhookWithSecretSchema, 'The webhook, with its new secret.') },
}

const enable = {
  tags,
  operationId: 'enableWebhook',
  summary: 'Enable a webhook',
  description:
    'Sends events again, beginning with those that wait, at once. If the webhook is enabled already, it does not change, and ' +
    'the deliveries that wait for their next attempt are attempted at once. The API key must be allowed to read what the webhook ' +
    'was ever set to send.',
  params: webhookParams,
  response: answer,
}

const disable = {
  tags,
  operationId: 'disableWebhook',
  summary: 'Disable a webhook',
  description:
    'After the response no delivery begins until the webhook is enabled. Events wait, for at most 30 days. A webhook that is disabled already does not change.',
  params: webhookParams,
  response: answer,
}

export function webhookRoutes(ctx: WebhookContext): Routes {
  return (app) => {
    addReads(app, ctx)
    addCreate(app, ctx)
    addChanges(app, ctx)
    addRotation(app, ctx)
  }
}

function addReads(app: App, ctx: WebhookContext): void {
  app.get('/v1/webhooks', { schema: list, config: readAccess }, async ({ caller, query }) => {
    const { limit, cursor, status } = query
    const [before] = cursor === undefined ? [] : decodeCursor('webhooks', 1, cursor)
    const found = await listWebhooks(ctx, caller, { status, before, limit: limit + 1 })
    const keyOf = (view: WebhookView) => [view.webhook_id]
    return success(pageOf('webhooks', { found, limit, keyOf, present: (view) => view }))
  })

  app.get('/v1/webhooks/:webhook_id', { schema: detail, config: readAccess }, async ({ caller, params }) =>
    success(await readWebhook(ctx, caller, params.webhook_id)),
  )
}

function addCreate(app: App, ctx: WebhookContext): void {
  app.post(
    '/v1/webhooks',
    {
      schema: create,
      config: {
        ...writeAccess,
        idempotent: true,
        quotas: ['webhooks'],
        refusals: { ...NOT_READABLE, ...NOT_CONFIGURED },
      },
    },
    (request, reply) => {
      const { caller, body } = request
      const { description = null, types = null, wallet_ids = null, payload = 'full', signatures = ['v1'] } = body
      const webhook = {
        url: body.url,
        description,
        types,
        walletIds: wallet_ids,
        payload,
        environment: environmentOf(caller, body.environment),
        signatures,
      }
      return replyAccepted(request, reply, {
        accept: (metadata) => createWebhook(ctx, webhook, caller, metadata),
        async answer({ id, made }) {
          return { code: 201, view: withSecret(await readWebhook(ctx, caller, id, { deleted: true }), made) }
        },
      })
    },
  )
}

function addChanges(app: App, ctx: WebhookContext): void {
  /** Only the owner's, so that nobody else learns that it exists. */
  const find = async (caller: Caller, webhookId: string) => void (await readWebhook(ctx, caller, webhookId))

  app.patch(
    '/v1/webhooks/:webhook_id',
    { schema: update, config: { ...writeAccess, refusals: NOT_READABLE } },
    async (request) => {
      const { caller, params, body } = request
      await find(caller, params.webhook_id)
      const { wallet_ids, ...terms } = body
      const revision = wallet_ids === undefined ? terms : { ...terms, walletIds: wallet_ids }
      await changeWebhook(ctx, params.webhook_id, revision, caller, metadataOf(request))
      await untilChanged(ctx, params.webhook_id)
      if (body.url !== undefined) await sendWaiting(ctx, params.webhook_id)
      return success(await readWebhook(ctx, caller, params.webhook_id))
    },
  )

  app.delete('/v1/webhooks/:webhook_id', { schema: remove, config: writeAccess }, async (request) => {
    const { caller, params } = request
    await readWebhook(ctx, caller, params.webhook_id, { deleted: true })
    await deleteWebhook(ctx, params.webhook_id, metadataOf(request))
    await untilChanged(ctx, params.webhook_id)
    return success(await readWebhook(ctx, caller, params.webhook_id, { deleted: true }))
  })

  const switching = { ...writeAccess, idempotent: true, quotas: [] }
  const enabling = { ...switching, refusals: NOT_READABLE }
  app.post('/v1/webhooks/:webhook_id/enable', { schema: enable, config: enabling }, async (request, reply) => {
    const { caller, params } = request
    await find(caller, params.webhook_id)
    return replyAccepted(request, reply, {
      accept: (metadata) => enableWebhook(ctx, params.webhook_id, caller, metadata),
      async answer({ replayed }) {
        if (!replayed) await sendWaiting(ctx, params.webhook_id)
        return { code: 200, view: await readWebhook(ctx, caller, params.webhook_id) }
      },
    })
  })

  app.post('/v1/webhooks/:webhook_id/disable', { schema: disable, config: switching }, async (request, reply) => {
    const { caller, params } = request
    await find(caller, params.webhook_id)
    return replyAccepted(request, reply, {
      accept: (metadata) => disableWebhook(ctx, { id: params.webhook_id, environment: caller.environment }, metadata),
      async answer() {
        await untilChanged(ctx, params.webhook_id)
        return { code: 200, view: await readWebhook(ctx, caller, params.webhook_id) }
      },
    })
  })
}

function addRotation(app: App, ctx: WebhookContext): void {
  app.post(
    '/v1/webhooks/:webhook_id/rotate-secret',
    {
      schema: rotate,
      config: {
        ...writeAccess,
        idempotent: true,
        quotas: [],
        refusals: { 409: 'The webhook has 4 valid secrets: `too_many_secrets`.', ...NOT_READABLE, ...NOT_CONFIGURED },
      },
    },
    async (request, reply) => {
      const { caller, params, body } = request
      await readWebhook(ctx, caller, params.webhook_id)
      return replyAccepted(request, reply, {
        accept: (metadata) => rotateSecret(ctx, params.webhook_id, body.overlap_hours, caller, metadata),
        async answer({ made }) {
          await untilChanged(ctx, params.webhook_id)
          return { code: 200, view: withSecret(await readWebhook(ctx, caller, params.webhook_id), made) }
        },
      })
    },
  )
}

function withSecret(view: WebhookView, secret: ShownSecret) {
  const message = 'The secret was returned in the first response to this request: rotate it if you do not have it.'
  const returned = { code: 'secret_already_returned', message, field: 'secret' }
  return { ...view, secret, warnings: secret === null ? [returned] : [] }
}
