/**
 * Drafts, shadows and publishes policies for a key of their owner. What is published is what its sender has read, and counts what was
 * spent before.
 */
import { createHash } from 'node:crypto'
import type { Context } from '../context.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { forResource, type Metadata } from '../core/messages.ts'
import type { Policy } from '../core/policy.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { type Decision, decideOn, type Loaded } from '../event-log/aggregate.ts'
import { policyAggregate, policyStreamOf } from './aggregate.ts'
import { compilePolicy } from './compile.ts'
import type { KnownPolicies, PoliciesState, PolicyCommand, Source } from './decider.ts'
import type { CountingBasis } from './events.ts'
import { requirePublishable } from './lint.ts'
import { locksOut, type Publisher } from './lock-out.ts'
import { hasOpened, type PastContext } from './read-past.ts'
import { type AssetOf, readSentPolicy } from './read-policy.ts'
import type { SentPolicy } from './sent-policy.ts'

/** Who asks: the key. */
export type PolicyMaker = Owner & { readonly keyId: string }

/** What the routes of policies need. */
export type PolicyContext = Pick<Context, 'log' | 'pool' | 'clock' | 'newId'> & {
  readonly accept: Accept
  /** How the past of a tenant is read. */
  readonly past: PastContext
  /** An asset that the owner may name, by its id. */
  readonly assetOf: (owner: Owner, assetId: string) => ReturnType<AssetOf>
  /** Live API keys that may publish. */
  readonly publishersOf: (owner: Owner) => Promise<readonly Publisher[]>
  /** Makes this process see the change at once. */
  readonly forgetPolicies: (owner: Owner) => void
}

/** What a version is recognised by: SHA-256 of its canonical JSON (RFC 8785), hex. */
export function policyHash(policy: Policy): string {
  return createHash('sha256').update(canonicalJson(policy)).digest('hex')
}

type At = { readonly metadata: Metadata; readonly now: string }

/** Each attempt decides on what the log has by then. */
function run(
  { log, accept, newId, forgetPolicies }: PolicyContext,
  owner: PolicyMaker,
  metadata: Metadata,
  decide: (loaded: Loaded<PoliciesState>, at: At) => Promise<Decision | null>,
): Promise<Accepted> {
  const id = policyStreamOf(owner)
  return accept(
    metadata,
    async (append, unchanged) => {
      const requestId = newId('request')
      const loaded = await log.load(policyAggregate, id)
      const at = { metadata: forResource(metadata, requestId), now: log.now() }
      const decision = await decide(loaded, at)
      if (decision === null) return unchanged({ id, environment: owner.environment }, null)
      return append({ id: requestId, commit: { decisions: [decision] }, made: null })
    },
    { replayFirst: true },
  ).finally(() => forgetPolicies(owner))
}

/** @throws ValidationFailed; Conflict `policy_changed`, `policy_changes_exhausted` */
export async function draftPolicy(
  ctx: PolicyContext,
  {
    revision,
    policy: sent,
    note,
  }: { readonly revision: number; readonly policy: SentPolicy; readonly note: string | null },
  owner: PolicyMaker,
  metadata: Metadata,
): Promise<void> {
  const { tenantId, environment, keyId: by } = owner
  const policy = await readSentPolicy(sent, (assetId) => ctx.assetOf(owner, assetId))
  await run(ctx, owner, metadata, async (loaded, at) => {
    const command = { type: 'DraftPolicy', tenantId, environment, revision, policy, note, by, now: at.now } as const
    return decideOn(policyAggregate, loaded, command, at)
  })
}

/** @throws Conflict `policy_changed`, `policy_changes_exhausted`; IdempotencyKeyReused */
export function shadowPolicy(
  ctx: PolicyContext,
  revision: number,
  owner: PolicyMaker,
  metadata: Metadata,
): Promise<Accepted> {
  return run(ctx, owner, metadata, async (loaded, at) => shadowOf(loaded, revision, owner, at))
}

/** @throws Conflict `policy_changed` */
export async function endShadowVersion(
  ctx: PolicyContext,
  version: number | null,
  owner: PolicyMaker,
  metadata: Metadata,
): Promise<void> {
  await run(ctx, owner, metadata, async (loaded, at) => {
    const { state } = loaded
    const ended = version ?? (state.status === 'known' ? (state.shadow?.version ?? 0) : 0)
    // There is nothing to end: neither without a policy, nor without a shadow.
    if (ended === 0) return null
    return decideOn(policyAggregate, loaded, { type: 'EndShadow', version: ended, by: owner.keyId, now: at.now }, at)
  })
}

/**
 * @param forced why it is published although no key could publish another one
 * @throws ValidationFailed `approval_unavailable`; Conflict `policy_changed`, `policy_not_seeded`, `policy_locks_out`,
 *   `policy_changes_exhausted`; IdempotencyKeyReused
 */
export function publishPolicy(
  ctx: PolicyContext,
  source: Source,
  forced: string | null,
  owner: PolicyMaker,
  metadata: Metadata,
): Promise<Accepted> {
  return run(ctx, owner, metadata, (loaded, at) => publishOf(ctx, loaded, { source, forced, owner }, at))
}

function shadowOf(
  loaded: Loaded<PoliciesState>,
  revision: number,
  { keyId: by }: PolicyMaker,
  { metadata, now }: At,
): Decision<PoliciesState> | null {
  const { state } = loaded
  const [hash, isSeeded] =
    state.status === 'unknown'
      ? ['', false]
      : [policyHash(state.draft.policy), uncountedBy(state, state.draft.policy).length === 0]
  const command = { type: 'ShadowPolicy', revision, hash, isSeeded, by, now } as const
  return decideOn(policyAggregate, loaded, command, { metadata, now })
}

/** Rules whose counters the active version does not have: they would begin at zero, whatever was spent before. */
function uncountedBy({ active }: KnownPolicies, policy: Policy): readonly string[] {
  const counted = new Set(active === null ? [] : limitsOf(active.policy).map(({ name }) => name))
  return limitsOf(policy).flatMap(({ name, rule }) => (counted.has(name) ? [] : [rule]))
}

function limitsOf(policy: Policy) {
  return compilePolicy(policy, 0).rules.flatMap(({ limit }) => limit ?? [])
}

type Publication = { readonly source: Source; readonly forced: string | null; readonly owner: PolicyMaker }

async function publishOf(
  ctx: PolicyContext,
  loaded: Loaded<PoliciesState>,
  { source: asked, forced, owner }: Publication,
  at: At,
): Promise<Decision | null> {
  const { state } = loaded
  const found = foundIn(state, asked)
  const command = { type: 'PublishPolicy', forced, by: owner.keyId, now: at.now } as const
  if (state.status === 'unknown' || found === null) {
    const nothing = { hash: '', basis: null, uncounted: [], locksOut: false }
    return decideOn(policyAggregate, loaded, { ...command, ...nothing, source: asked }, at)
  }
  const { policy, hash, source } = found
  requirePublishable(policy)
  const publishers = await ctx.publishersOf(owner)
  const isLocked = locksOut(compilePolicy(policy, 0), owner, publishers, Date.parse(at.now))
  const uncounted = uncountedBy(state, policy)
  const known = { ...command, hash, uncounted, locksOut: isLocked }
  const isRefused = isLocked && forced === null
  const basis = uncounted.length === 0 ? 'counted' : 'version' in source && state.isSeeded ? 'seeded' : null
  if (basis !== null || isRefused || (await hasOpened(ctx.past, owner)))
    return decideOn(policyAggregate, loaded, { ...known, source, basis }, at)
  return publishFirst(ctx, loaded, { source, owner, command: known }, at)
}

/**
 * Publishes limits of a tenant that has never requested anything. The version is a shadow first: every request after it counts, and
 * the append of one waits for the append of the other. So what is not there by then was never there.
 */
async function publishFirst(
  { log, past }: PolicyContext,
  before: Loaded<PoliciesState>,
  {
    source,
    owner,
    command,
  }: {
    readonly source: Source
    readonly owner: PolicyMaker
    readonly command: Omit<Extract<PolicyCommand, { type: 'PublishPolicy' }>, 'source' | 'basis'>
  },
  at: At,
): Promise<Decision | null> {
  const { idempotency: _, ...metadata } = at.metadata
  const shadowed = 'version' in source ? null : shadowOf(before, source.revision, owner, { ...at, metadata })
  await log.commit([shadowed])
  const loaded = shadowed?.after ?? before
  const { state } = loaded
  const version = state.status === 'known' ? (state.shadow?.version ?? 0) : 0
  const basis: CountingBasis | null = (await hasOpened(past, owner)) ? null : 'nothing_opened'
  return decideOn(policyAggregate, loaded, { ...command, source: { version }, basis }, at)
}

/** The draft or the shadow that is asked for. A draft that is the shadow is published as that; `null` for any other one. */
function foundIn(state: PoliciesState, source: Source) {
  if (state.status === 'unknown') return null
  const { shadow, draft } = state
  if ('version' in source) {
    if (shadow?.version !== source.version) return null
    return { policy: shadow.policy, hash: shadow.hash, source }
  }
  if (draft.revision !== source.revision) return null
  const hash = policyHash(draft.policy)
  return { policy: draft.policy, hash, source: shadow?.hash === hash ? { version: shadow.version } : source }
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly policies: PolicyContext
  }
}
