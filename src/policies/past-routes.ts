/** HTTP routes that test a policy on the past, and on one request. Nothing is recorded. */
import type { TSchema } from '@sinclair/typebox'
import type { ApiPart, RouteContext } from '../api-context.ts'
import { Conflict, ValidationFailed } from '../core/errors.ts'
import { actorOfApiKey } from '../core/messages.ts'
import type { Policy } from '../core/policy.ts'
import type { Owner } from '../core/tenants.ts'
import { type BodyLimits, CALL_BODY } from '../http/body-limits.ts'
import { success, successOf } from '../http/envelope.ts'
import type { App, Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import { compilePolicy } from './compile.ts'
import type { PolicyContext } from './manage-policies.ts'
import { backtestBody, backtestSchema, simulateBody, simulationSchema } from './past-schemas.ts'
import { policyOfVersion, readPolicies } from './read-policies.ts'
import { readSentPolicy } from './read-policy.ts'
import { POLICY_BODY, policyRoutes } from './routes.ts'
import { type BacktestRange, runBacktest } from './run-backtest.ts'
import type { SentPolicy } from './sent-policy.ts'
import { shownBacktest } from './shown-backtest.ts'
import { shownSimulation } from './shown-simulation.ts'
import { type Prepare, type SimulatedRequest, type Simulating, simulate } from './simulate.ts'

/** What is tested: one of these. */
export type TestedSource = { readonly policy?: SentPolicy; readonly revision?: number; readonly version?: number }

type PastContext = PolicyContext & Simulating

/** Events of the log that one test may read. */
const MOST_EVENTS = 100_000
/** What is remembered of it takes about 200 MB. */
const MOST_COUNTED = 500_000
const LONGEST_MS = 31 * 86_400_000

/** A policy and the largest request. */
const BODY: BodyLimits = {
  bytes: POLICY_BODY.bytes + CALL_BODY.bytes,
  values: POLICY_BODY.values + CALL_BODY.values,
}

const tags = ['Policies']
const SENT = 'Send one of `policy`, `revision` (of the draft) and `version`.'

const backtest = {
  tags,
  operationId: 'backtestPolicy',
  summary: 'Test a policy on the past',
  description:
    `Tells what a policy would have said of the requests of your tenant in the environment of the API key: in all, by rule, and the ten largest that it would ` +
    `not have allowed. ${SENT} Requests are judged in the order of the log, with the prices and tags of then. What the policy refuses counts towards no limit. ` +
    'Nothing is recorded. A test covers at most 31 days, reads at most 100,000 events of the log, and counts at most 500,000 times towards a limit, fewer if the quota `backtested_events_per_second` is used up meanwhile: ' +
    'then `truncated` is true. `npm run bursar -- policy test` has no such limits.',
  body: backtestBody,
  response: { 200: successOf(backtestSchema, 'What the policy would have said.') },
}

export function policyApi(ctx: RouteContext): ApiPart {
  const pastRoutes: Routes = (app) => {
    addBacktest(app, ctx)
    addSimulation(app, ctx, ctx.simulated())
  }
  return { routes: [policyRoutes(ctx), pastRoutes] }
}

/** @throws ValidationFailed, Conflict `policy_changed`, NotFound `policy_version_not_found` */
async function policyOf(
  { pool, assetOf }: PolicyContext,
  owner: Owner,
  { policy, revision, version }: TestedSource,
): Promise<Policy> {
  if (policy !== undefined) return readSentPolicy(policy, (assetId) => assetOf(owner, assetId))
  if (version !== undefined) return policyOfVersion(pool, owner, version)
  const { draft } = await readPolicies(pool, owner)
  if (draft?.revision === revision) return policyOfVersion(pool, owner, 'draft')
  const message = `The draft has the revision ${draft?.revision ?? 0}: read it again with GET /v1/policies.`
  throw new Conflict('policy_changed', message, { revision: draft?.revision ?? 0 })
}

function addBacktest(app: App, ctx: PolicyContext): void {
  app.post(
    '/v1/policies/backtest',
    {
      schema: backtest,
      config: {
        scope: 'policies:write',
        rate: 'backtested_events_per_second',
        measured: true,
        body: BODY,
        refusals: { 409: CHANGED, 404: NO_VERSION },
      },
    },
    async ({ caller, body, meter }) => {
      meter.requireRoom()
      const { from, to, ...source } = body
      const range = readRange(from, to, ctx.clock())
      const policy = compilePolicy(await policyOf(ctx, caller, requireOne(source)), source.version ?? 0)
      let read = 0
      const tested = await runBacktest(ctx.past, caller, policy, range, (events, counted) => {
        read += events
        return (events === 0 || meter.use(events) === 0) && read < MOST_EVENTS && counted < MOST_COUNTED
      })
      return success(shownBacktest(tested))
    },
  )
}

const CHANGED = 'The draft has another revision: `policy_changed`.'
const NO_VERSION = 'The version or the wallet does not exist.'

/** @throws ValidationFailed */
function readRange(from: string, to: string | undefined, now: number): BacktestRange {
  const [fromMs, toMs] = [Date.parse(from), to === undefined ? now : Date.parse(to)]
  if (fromMs >= toMs)
    throw ValidationFailed.field(
      'from',
      'out_of_range',
      `from must be earlier than ${to === undefined ? 'now' : 'to'}.`,
    )
  if (toMs - fromMs > LONGEST_MS)
    throw ValidationFailed.field(
      'to',
      'out_of_range',
      'to must be at most 31 days after from: test the rest with another request.',
    )
  return { fromMs, toMs: to === undefined ? null : toMs }
}

/** @throws ValidationFailed */
function requireOne<Source extends TestedSource>(source: Source): Source {
  const sent = [source.policy, source.revision, source.version].filter((one) => one !== undefined)
  if (sent.length === 1) return source
  throw ValidationFailed.field('policy', 'required', 'policy, revision or version is required: send one of them.')
}

function addSimulation(app: App, ctx: PastContext, requests: Readonly<Record<string, SimulatedRequest>>): void {
  const names = Object.keys(requests)
  const schema = {
    tags,
    operationId: 'simulatePolicy',
    summary: 'Simulate a request under a policy',
    description:
      `Tells what a policy would say of a request now, and why: what the request can do, how each condition of each rule holds, and what is left of limits. ${SENT} ` +
      `Send one of ${names.map((name) => `\`${name}\``).join(', ')}, with the body of its own route. It is prepared as a real request, and refused as that if it is ` +
      'invalid. Nothing is recorded, and balances are not compared.',
    body: simulateBody(Object.fromEntries(names.map((name) => [name, requests[name]?.body as TSchema]))),
    response: { 200: successOf(simulationSchema, 'What the policy would say.') },
  }
  app.post(
    '/v1/policies/simulate',
    {
      schema,
      config: {
        scope: 'policies:write',
        rate: 'calls_per_second',
        body: BODY,
        refusals: {
          404: NO_VERSION,
          409: `${CHANGED} Or the request would be refused for another reason.`,
          503: 'No node answers.',
        },
      },
    },
    async (request) => {
      const { caller } = request
      const body = request.body as TestedSource & { readonly wallet_id: string; readonly api_key?: string }
      const name = requestIn(body, names)
      const prepare = requests[name]?.prepare(
        body.wallet_id,
        (body as Readonly<Record<string, unknown>>)[name] as never,
      )
      const policy = compilePolicy(await policyOf(ctx, caller, requireOne(body)), body.version ?? 0)
      const { idempotency: _, ...metadata } = metadataOf(request)
      const actor = body.api_key === undefined ? metadata.actor : actorOfApiKey(body.api_key)
      const parts = await simulate(ctx, policy, prepare as Prepare, { ...metadata, actor }, caller.environment)
      return success(shownSimulation(body.version ?? null, parts))
    },
  )
}

/** @throws ValidationFailed */
function requestIn(body: object, names: readonly string[]): string {
  const sent = names.filter((name) => name in body)
  const [only] = sent
  if (only !== undefined && sent.length === 1) return only
  throw ValidationFailed.field(
    only ?? names[0] ?? '',
    'required',
    `one of ${names.join(', ')} is required: send one request.`,
  )
}
