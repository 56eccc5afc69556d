/** HTTP routes that draft, shadow, publish and read policies. */
import type { Static } from '@sinclair/typebox'
import { ValidationFailed } from '../core/errors.ts'
import type { BodyLimits } from '../http/body-limits.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf } from '../http/paging.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { App, Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import type { Source } from './decider.ts'
import { draftPolicy, endShadowVersion, type PolicyContext, publishPolicy, shadowPolicy } from './manage-policies.ts'
import { listVersions, readPolicies, readVersion } from './read-policies.ts'
import {
  draftBody,
  endShadowQuery,
  MAX_VERSION,
  policiesSchema,
  publishBody,
  shadowBody,
  versionDetailSchema,
  versionPageSchema,
  versionParams,
  versionQuery,
  versionsQuery,
} from './route-schemas.ts'
import type { VersionSummary } from './view.ts'

/** 10,000 addresses, and rules of 64 KiB, indented. The values are those of the addresses and of the shortest rules. */
export const POLICY_BODY: BodyLimits = { bytes: 1_024 * 1_024, values: 32 * 1_024 }

const tags = ['Policies']
const answer = { 200: successOf(policiesSchema, 'The policy in force, the shadow and the draft.') }
const readAccess = { scope: 'policies:read' } as const
const publishAccess = { scope: 'policies:publish' } as const
const CHANGED = 'The draft or the version is another one than the one that was read: `policy_changed`.'
const EXHAUSTED = 'Too much was drafted today: `policy_changes_exhausted`.'

const current = {
  tags,
  operationId: 'getPolicies',
  summary: 'Get the policy',
  description:
    'Returns the policy that is in force for your wallets in the environment of the API key, the shadow that reports what it would do, ' +
    'and the draft. Each is null if there is none. Without an active policy, everything is allowed that scopes and limits of API keys allow.',
  response: answer,
}

const draft = {
  tags,
  operationId: 'draftPolicy',
  summary: 'Draft a policy',
  description:
    'Replaces the draft. Nothing changes for requests: test the draft, make it the shadow, and publish it. Send the `revision` of the draft that you ' +
    'have read, 0 for the first one: of two drafts that replace the same one, the second is refused. `warnings` has what is valid and probably not meant.',
  body: draftBody,
  response: answer,
}

const shadow = {
  tags,
  operationId: 'shadowPolicy',
  summary: 'Shadow a policy',
  description:
    'Makes the draft the shadow, in place of the one before. A shadow judges every request beside the active policy: it counts and reports what it would deny, as ' +
    '`policy.refused` events, and denies nothing. What was spent before is added up in the background; then `seeded` is true, and it can be published.',
  body: shadowBody,
  response: answer,
}

const endShadow = {
  tags,
  operationId: 'endPolicyShadow',
  summary: 'End the shadow',
  description: 'Ends the shadow: it judges no more requests. Without a shadow, nothing changes.',
  querystring: endShadowQuery,
  response: answer,
}

const publish = {
  tags,
  operationId: 'publishPolicy',
  summary: 'Publish a policy',
  description:
    'Makes the shadow (`version`) or the draft (`revision`) the active policy. Each request is judged by the version before or by this one, and its event names which. ' +
    'A draft with limits that count something new must be the shadow first. A draft that is published ends the shadow.',
  body: publishBody,
  response: answer,
}

const versions = {
  tags,
  operationId: 'listPolicyVersions',
  summary: 'List versions of the policy',
  description: 'Lists every version that was the shadow or was published, newest first, without its rules.',
  querystring: versionsQuery,
  response: { 200: successOf(versionPageSchema, 'A page of versions.') },
}

const version = {
  tags,
  operationId: 'getPolicyVersion',
  summary: 'Get a version of the policy',
  description:
    'Returns a version, or the draft, with its rules. With `against`, also what differs from another version.',
  params: versionParams,
  querystring: versionQuery,
  response: { 200: successOf(versionDetailSchema, 'The version.') },
}

export function policyRoutes(ctx: PolicyContext): Routes {
  return (app) => {
    addReads(app, ctx)
    addChanges(app, ctx)
    addPublication(app, ctx)
  }
}

function addReads(app: App, { pool }: PolicyContext): void {
  app.get('/v1/policies', { schema: current, config: readAccess }, async ({ caller }) =>
    success(await readPolicies(pool, caller)),
  )

  app.get('/v1/policies/versions', { schema: versions, config: readAccess }, async ({ caller, query }) => {
    const { limit, cursor } = query
    const before = cursor === undefined ? {} : { before: versionIn(cursor) }
    const found = await listVersions(pool, caller, { ...before, limit: limit + 1 })
    const keyOf = (view: VersionSummary) => [`${view.version}`]
    return success(pageOf('versions', { found, limit, keyOf, present: (view) => view }))
  })

  app.get(
    '/v1/policies/versions/:version',
    { schema: version, config: readAccess },
    async ({ caller, params, query }) => {
      const name = params.version === 'draft' ? 'draft' : Number(params.version)
      return success(await readVersion(pool, caller, name, query.against))
    },
  )
}

/** Anybody can make a cursor: what is no version stands before all. */
function versionIn(cursor: string): number {
  const [text = ''] = decodeCursor('versions', 1, cursor)
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), MAX_VERSION) : 0
}

function addChanges(app: App, ctx: PolicyContext): void {
  app.put(
    '/v1/policies',
    {
      schema: draft,
      config: { scope: 'policies:write', body: POLICY_BODY, refusals: { 409: `${CHANGED} ${EXHAUSTED}` } },
    },
    async (request) => {
      const { caller, body } = request
      const { revision, policy, note = null } = body
      await draftPolicy(ctx, { revision, policy, note }, caller, metadataOf(request))
      return success(await readPolicies(ctx.pool, caller))
    },
  )

  app.delete(
    '/v1/policies/shadow',
    { schema: endShadow, config: { ...publishAccess, refusals: { 409: CHANGED } } },
    async (request) => {
      const { caller, query } = request
      await endShadowVersion(ctx, query.version ?? null, caller, metadataOf(request))
      return success(await readPolicies(ctx.pool, caller))
    },
  )
}

function addPublication(app: App, ctx: PolicyContext): void {
  app.post(
    '/v1/policies/shadow',
    {
      schema: shadow,
      config: { ...publishAccess, idempotent: true, quotas: [], refusals: { 409: `${CHANGED} ${EXHAUSTED}` } },
    },
    (request, reply) => {
      const { caller, body } = request
      return replyAccepted(request, reply, {
        accept: (metadata) => shadowPolicy(ctx, body.revision, caller, metadata),
        answer: async () => ({ code: 200, view: await readPolicies(ctx.pool, caller) }),
      })
    },
  )

  app.post(
    '/v1/policies/publish',
    {
      schema: publish,
      config: {
        ...publishAccess,
        idempotent: true,
        quotas: [],
        refusals: {
          409: `${CHANGED} Or its limits do not know what was spent before: \`policy_not_seeded\`. Or no API key could publish another one: \`policy_locks_out\`. ${EXHAUSTED}`,
        },
      },
    },
    (request, reply) => {
      const { caller, body } = request
      const [source, forced] = [sourceOf(body), forcedBy(body)]
      return replyAccepted(request, reply, {
        accept: (metadata) => publishPolicy(ctx, source, forced, caller, metadata),
        answer: async () => ({ code: 200, view: await readPolicies(ctx.pool, caller) }),
      })
    },
  )
}

/** @throws ValidationFailed */
function sourceOf({ revision, version: number }: Static<typeof publishBody>): Source {
  if (revision !== undefined && number === undefined) return { revision }
  if (number !== undefined && revision === undefined) return { version: number }
  const rule = 'version must be sent to publish the shadow, or revision to publish the draft: send one of them.'
  throw ValidationFailed.field('version', number === undefined ? 'required' : 'not_allowed', rule)
}

/** @throws ValidationFailed */
function forcedBy({ force = false, reason }: Static<typeof publishBody>): string | null {
  if (force && reason === undefined)
    throw ValidationFailed.field('reason', 'required', 'reason is required with force: say why, it is recorded.')
  if (!force && reason !== undefined)
    throw ValidationFailed.field('reason', 'not_allowed', 'reason is for force: leave it out, or send force true.')
  return reason ?? null
}
