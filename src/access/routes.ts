/** HTTP routes that create, read, change, replace, revoke and report API keys. */
import type { Static } from '@sinclair/typebox'
import type { ApiContext } from '../api-context.ts'
import type { Owner } from '../core/tenants.ts'
import { environmentOf } from '../http/caller.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf } from '../http/paging.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { App, Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import type { KeyGate } from './key-gate.ts'
import { type askedLimitsSchema, readLimits } from './limit-schemas.ts'
import { changeApiKey, createApiKey, type KeyContext, rotateApiKey, type ShownToken } from './manage-api-keys.ts'
import { listApiKeys, readApiKey } from './read-api-keys.ts'
import { reportApiKey } from './report-api-key.ts'
import { revokeApiKey } from './revoke-api-key.ts'
import {
  apiKeyPageSchema,
  apiKeyParams,
  apiKeySchema,
  apiKeyWithTokenSchema,
  createBody,
  listQuery,
  meSchema,
  reportBody,
  reportedSchema,
  rotateBody,
  updateBody,
} from './schemas.ts'
import type { ApiKeyView } from './view.ts'

const tags = ['API keys']
const answer = { 200: successOf(apiKeySchema, 'The API key.') }
const readAccess = { scope: 'api_keys:read' } as const
const writeAccess = { scope: 'api_keys:write' } as const
const BEYOND = { 403: 'The API key of the request does not hold what it would give: `beyond_own_key`.' }
const ENDED = 'The API key was revoked or has expired: `api_key_ended`.'

const create = {
  tags,
  operationId: 'createApiKey',
  summary: 'Create an API key',
  description:
    'Creates an API key for your tenant, in the environment of the API key of the request. It holds at most what that one holds: no other ' +
    'scope, no later expiry, no other address. Only this response contains it: it cannot be shown again.',
  body: createBody,
  response: { 201: successOf(apiKeyWithTokenSchema, 'The API key, with its token.') },
}

const list = {
  tags,
  operationId: 'listApiKeys',
  summary: 'List API keys',
  description:
    'Lists the API keys of your tenant in the environment of the API key of the request, newest first, also those that were revoked or have expired.',
  querystring: listQuery,
  response: { 200: successOf(apiKeyPageSchema, 'A page of API keys.') },
}

const detail = {
  tags,
  operationId: 'getApiKey',
  summary: 'Get an API key',
  description: 'Returns one API key, without its token.',
  params: apiKeyParams,
  response: answer,
}

const me = {
  tags,
  operationId: 'getMe',
  summary: 'Get the API key of the request',
  description: 'Returns the tenant and the API key of this request, and the address that it came from.',
  response: { 200: successOf(meSchema, 'The API key of the request.') },
}

const update = {
  tags,
  operationId: 'updateApiKey',
  summary: 'Update an API key',
  description:
    'Changes the label, takes scopes away, lets the API key expire earlier, or changes its limits or the addresses that may use it. Omitted fields keep ' +
    'their values. Effective within a second. Addresses can be added only with an API key that could create this one.',
  params: apiKeyParams,
  body: updateBody,
  response: answer,
}

const remove = {
  tags,
  operationId: 'revokeApiKey',
  summary: 'Revoke an API key',
  description:
    'Revokes the API key permanently. Requests that begin more than a second after the response are refused; those that began before are ' +
    'completed. API keys and webhooks that were created with it stay. Revoking it again returns the same response.',
  params: apiKeyParams,
  response: answer,
}

const rotate = {
  tags,
  operationId: 'rotateApiKey',
  summary: 'Rotate an API key',
  description:
    'Creates an API key with the same scopes, expiry and addresses, which replaces this one. For `overlap_seconds` both work. Only this response contains ' +
    'the new API key. An API key is rotated once: rotate the new one next.',
  params: apiKeyParams,
  body: rotateBody,
  response: { 201: successOf(apiKeyWithTokenSchema, 'The new API key, with its token.') },
}

const report = {
  tags,
  operationId: 'reportApiKey',
  summary: 'Report a leaked API key',
  description:
    'Revokes an API key that you found, for example in a public repository. It needs no API key. The response is the same, and takes as long, whether or ' +
    'not there is such a key.',
  body: reportBody,
  response: { 202: successOf(reportedSchema, 'The report was received.') },
}

export function apiKeyRoutes(context: ApiContext): Routes {
  const { rows, forgetKey } = context.keyGate
  const ctx = { ...context, forgetKey }
  return (app) => {
    addReads(app, ctx)
    addCreate(app, ctx)
    addChanges(app, ctx)
    addReport(app, ctx, rows)
  }
}

function addReads(app: App, ctx: KeyContext): void {
  app.get('/v1/api-keys', { schema: list, config: readAccess }, async ({ caller, query }) => {
    const { limit, cursor, issued_by: issuedBy } = query
    const [before] = cursor === undefined ? [] : decodeCursor('api_keys', 1, cursor)
    const found = await listApiKeys(ctx, caller, { issuedBy, before, limit: limit + 1 })
    const keyOf = (view: ApiKeyView) => [view.key_id]
    return success(pageOf('api_keys', { found, limit, keyOf, present: (view) => view }))
  })

  app.get('/v1/api-keys/:key_id', { schema: detail, config: readAccess }, async ({ caller, params }) =>
    success(await readApiKey(ctx, caller, params.key_id)),
  )

  app.get('/v1/me', { schema: me, config: { scope: 'any' } }, async ({ caller, ip }) =>
    success({ tenant_id: caller.tenantId, address: ip, ...(await readApiKey(ctx, caller, caller.keyId)) }),
  )
}

function addCreate(app: App, ctx: KeyContext): void {
  app.post(
    '/v1/api-keys',
    { schema: create, config: { ...writeAccess, idempotent: true, quotas: ['api_keys'], refusals: BEYOND } },
    (request, reply) => {
      const { caller, body, ip: address } = request
      const { label = '', scopes, expires_at, ip_allowlist, limits, force = false } = body
      environmentOf(caller, body.environment)
      const terms = { label, scopes, ...termsOf(expires_at, ip_allowlist) }
      return replyAccepted(request, reply, {
        async accept(metadata) {
          const key = { ...terms, ...(await limitsFor(ctx, caller, limits)) }
          return createApiKey(ctx, key, { ...caller, address }, metadata, { force })
        },
        async answer({ id, made }) {
          return { code: 201, view: withToken(await readApiKey(ctx, caller, id), made) }
        },
      })
    },
  )
}

function addChanges(app: App, ctx: KeyContext): void {
  app.patch(
    '/v1/api-keys/:key_id',
    { schema: update, config: { ...writeAccess, refusals: { ...BEYOND, 409: ENDED } } },
    async (request) => {
      const { caller, params, body, ip: address } = request
      const { expires_at, ip_allowlist, limits, force = false, ...others } = body
      const asked = await limitsFor(ctx, caller, limits)
      const revision = { ...others, ...termsOf(expires_at, ip_allowlist), ...asked }
      await changeApiKey(ctx, params.key_id, revision, { ...caller, address }, metadataOf(request), { force })
      return success(await readApiKey(ctx, caller, params.key_id))
    },
  )

  // Who gave a key away can take it back, also if that key has used up the requests of both.
  app.delete('/v1/api-keys/:key_id', { schema: remove, config: { ...writeAccess, counts: false } }, async (request) => {
    const { caller, params } = request
    await revokeApiKey(ctx, params.key_id, { ...metadataOf(request), owner: caller })
    return success(await readApiKey(ctx, caller, params.key_id))
  })

  app.post(
    '/v1/api-keys/:key_id/rotate',
    {
      schema: rotate,
      config: {
        ...writeAccess,
        idempotent: true,
        // For the overlap it is one more, and the new one may be rotated in turn.
        quotas: (asked) => ((asked as Static<typeof rotateBody>).overlap_seconds === 0 ? [] : ['api_keys']),
        refusals: { ...BEYOND, 409: `${ENDED} Or it was rotated before: \`api_key_rotated\`.` },
      },
    },
    (request, reply) => {
      const { caller, params, body, ip: address } = request
      return replyAccepted(request, reply, {
        accept: (metadata) => rotateApiKey(ctx, params.key_id, body.overlap_seconds, { ...caller, address }, metadata),
        async answer({ id, made }) {
          return { code: 201, view: withToken(await readApiKey(ctx, caller, id), made) }
        },
      })
    },
  )
}

function addReport(app: App, ctx: KeyContext, keys: KeyGate['rows']): void {
  app.post(
    '/v1/api-keys/report',
    { schema: report, config: { scope: 'public', limited: true } },
    async ({ body, id }, reply) => {
      await reportApiKey({ keys, revoke: (...of) => revokeApiKey(ctx, ...of) }, body.api_key, id)
      reply.code(202)
      return success({ received: true })
    },
  )
}

async function limitsFor({ assetOf }: KeyContext, owner: Owner, asked: Static<typeof askedLimitsSchema> | undefined) {
  return asked === undefined ? {} : { limits: await readLimits(asked, (assetId) => assetOf(owner, assetId)) }
}

/** A time in any time zone, as events have it. */
function termsOf(expiresAt: string | null | undefined, ipAllowlist: readonly string[] | undefined) {
  return {
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : instantOf(expiresAt) }),
    ...(ipAllowlist === undefined ? {} : { ipAllowlist }),
  }
}

/** What is no time is refused by the decider, as any other time that it cannot compare. */
function instantOf(text: string): string {
  const epochMs = Date.parse(text)
  return Number.isNaN(epochMs) ? text : new Date(epochMs).toISOString()
}

function withToken(view: ApiKeyView, token: ShownToken) {
  const message = 'The API key was returned in the first response to this request: rotate it if you do not have it.'
  const returned = { code: 'api_key_already_returned', message, field: 'api_key' }
  return { ...view, api_key: token, warnings: token === null ? [returned] : [] }
}
