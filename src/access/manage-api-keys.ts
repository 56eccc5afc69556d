/**
 * Creates, changes, replaces and revokes API keys for a key of their owner. A token is in no event: a repeated request
 * returns the key without it.
 *
 * Invariant: a key gives only what it holds by then, in its environment. The database checks that once more in the append
 * (`refuse_keys`), behind a lock of the row of the key that gives.
 */
import type { ApiContext } from '../api-context.ts'
import { type ErrorItem, PermissionDenied, ValidationFailed } from '../core/errors.ts'
import { toInstant } from '../core/ids.ts'
import { type AskedLimit, changedLimits, isWithinLimits, newLimits, rotatedLimits } from '../core/key-limits.ts'
import type { Metadata } from '../core/messages.ts'
import { grantsOf } from '../core/scopes.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accepted } from '../event-log/accept.ts'
import { decideNew, decideOn, type Loaded, mustDecideOn } from '../event-log/aggregate.ts'
import { isForbidden } from '../event-log/database-errors.ts'
import type { EventLog } from '../event-log/log.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { canonicalRange, isWithin, rangeCheck } from './allowlist.ts'
import { type ApiKeyState, type ChosenTerms, type KnownApiKey, noSuchApiKey } from './decider.ts'
import type { KeyTerms } from './events.ts'
import { createToken, digestOf } from './token.ts'

/** Who asks: the key, and the address that its request came from. */
export type Maker = Owner & { readonly keyId: string; readonly address: string }

/** What is omitted is that of the maker. */
export type NewApiKey = Pick<ChosenTerms, 'label' | 'scopes'> &
  Partial<Pick<ChosenTerms, 'expiresAt' | 'ipAllowlist'>> &
  OwnLimits
export type KeyRevision = Partial<Pick<ChosenTerms, 'label' | 'scopes' | 'expiresAt' | 'ipAllowlist'>> & OwnLimits
/** Besides those of the keys that made it. */
type OwnLimits = { readonly limits?: readonly AskedLimit[] }

/** What the response shows once: `null` in the response to a repeated request. */
export type ShownToken = string | null

/** `force`: whether the ranges may exclude the address of the request. */
type Force = { readonly force: boolean }

/** What requests about API keys need. */
export type KeyContext = Pick<ApiContext, 'log' | 'pool' | 'clock' | 'accept' | 'newId' | 'assetOf' | 'catalogue'> & {
  readonly judge: Pick<ApiContext['judge'], 'keyChange'>
  /** Makes this process see the change of a key at once. */
  readonly forgetKey: (keyId: string) => void
}

/** @throws ValidationFailed; PermissionDenied `beyond_own_key`; PolicyRefused; IdempotencyKeyReused */
export function createApiKey(
  { log, accept, newId, judge, catalogue }: Pick<KeyContext, 'log' | 'accept' | 'newId' | 'judge' | 'catalogue'>,
  asked: NewApiKey,
  maker: Maker,
  metadata: Metadata,
  { force }: Force,
): Promise<Accepted<ShownToken>> {
  return accept(
    metadata,
    async (append) => {
      const own = await loadMaker(log, maker)
      const { expiresAt = own.expiresAt, label, scopes } = asked
      const ipAllowlist = requireRanges(asked.ipAllowlist ?? own.ipAllowlist, maker.address, force)
      const now = log.now()
      const [keyId, token] = [newId('apiKey'), createToken(own.environment)]
      const limits = newLimits(keyId, asked.limits ?? [], own.limits)
      const terms = { label, scopes: [...new Set(scopes)], expiresAt, ipAllowlist, limits }
      const { tenantId, environment } = own
      const of = { tenantId, environment, digest: digestOf(token), issuedBy: maker.keyId, rotatedFrom: null }
      const { policy } = await judge.keyChange(
        { ...maker, requestedAt: now },
        { actor: metadata.actor, accepting: metadata },
      )
      const key = { ...terms, ...of, grants: grantsOf(terms.scopes, catalogue.scopes), ...(policy && { policy }) }
      const command = { type: 'IssueApiKey', key, knownScopes: catalogue.scopes, now } as const
      const issued = decideNew(apiKeyAggregate, keyId, command, { metadata, now })
      requireGiven(key, own, { names: true })
      return append({ id: keyId, commit: { decisions: [issued] }, explain, made: token })
    },
    { replayFirst: true },
  )
}

/**
 * Omitted fields do not change.
 *
 * @throws NotFound; Conflict `api_key_ended`; ValidationFailed; PermissionDenied `beyond_own_key`; PolicyRefused
 */
export async function changeApiKey(
  {
    log,
    accept,
    judge,
    forgetKey,
    catalogue,
  }: Pick<KeyContext, 'log' | 'accept' | 'judge' | 'forgetKey' | 'catalogue'>,
  keyId: string,
  revision: KeyRevision,
  maker: Maker,
  metadata: Metadata,
  { force }: Force,
): Promise<void> {
  await accept(metadata, async (append, unchanged) => {
    const own = await loadMaker(log, maker)
    const loaded = await loadOwned(log, maker, keyId)
    const { ipAllowlist: ranges, limits: asLimits, ...others } = revision
    const ipAllowlist = ranges === undefined ? {} : { ipAllowlist: requireRanges(ranges, maker.address, force) }
    const now = log.now()
    const { limits: before } = loaded.state
    const limits = asLimits === undefined ? {} : { limits: changedLimits(keyId, asLimits, before) }
    const asked = { ...others, ...ipAllowlist, ...limits }
    const { policy } = await judge.keyChange(
      { ...maker, requestedAt: now },
      { actor: metadata.actor, accepting: metadata },
    )
    const by = { changedBy: maker.keyId, ...(policy && { policy }) }
    const command = { type: 'ChangeApiKey', change: asked, ...by, knownScopes: catalogue.scopes, now } as const
    const decision = decideOn(apiKeyAggregate, loaded, command, { metadata, now })
    if (decision === null) return unchanged({ id: keyId, environment: maker.environment }, null)
    const { state: after } = decision.after
    if (after.status !== 'unknown' && !isNarrower(after, loaded.state)) requireGiven(after, own)
    return append({ id: keyId, commit: { decisions: [decision] }, explain, made: null })
  })
  forgetKey(keyId)
}

/**
 * A new key with the same terms; the one before it works for some time. The id is that of the new one.
 *
 * @throws NotFound; Conflict `api_key_ended`, `api_key_rotated`; PermissionDenied `beyond_own_key`; PolicyRefused;
 *   IdempotencyKeyReused
 */
export async function rotateApiKey(
  { log, accept, newId, judge, forgetKey, catalogue }: Omit<KeyContext, 'pool' | 'clock' | 'assetOf'>,
  keyId: string,
  overlapSeconds: number,
  maker: Maker,
  metadata: Metadata,
): Promise<Accepted<ShownToken>> {
  const rotated = await accept(
    metadata,
    async (append) => {
      const own = await loadMaker(log, maker)
      const loaded = await loadOwned(log, maker, keyId)
      const { label, scopes, grants, expiresAt, ipAllowlist, tenantId, environment, issuedBy } = loaded.state
      const isMaker = issuedBy === maker.keyId
      const limits = rotatedLimits(loaded.state.limits, own.limits, { isMaker })
      const now = log.now()
      const [rotatedTo, token] = [newId('apiKey'), createToken(environment)]
      const overlapEndsAt = toInstant(Date.parse(now) + overlapSeconds * 1_000)
      const rotate = { type: 'RotateApiKey', rotatedTo, overlapEndsAt, now } as const
      const before = mustDecideOn(apiKeyAggregate, loaded, rotate, { metadata, now })
      const of = { tenantId, environment, digest: digestOf(token), issuedBy: maker.keyId, rotatedFrom: keyId }
      const { policy } = await judge.keyChange(
        { ...maker, requestedAt: now },
        { actor: metadata.actor, accepting: metadata },
      )
      const key = { label, scopes, grants, expiresAt, ipAllowlist, limits, ...of, ...(policy && { policy }) }
      requireGiven(key, own)
      const issue = { type: 'IssueApiKey', key, knownScopes: catalogue.scopes, now } as const
      const after = decideNew(apiKeyAggregate, rotatedTo, issue, { metadata, now })
      return append({ id: rotatedTo, commit: { decisions: [before, after] }, explain, made: token })
    },
    { replayFirst: true },
  )
  forgetKey(keyId)
  return rotated
}

/** @throws PermissionDenied if it ended since it was authenticated */
async function loadMaker(log: EventLog, { keyId }: Maker): Promise<KnownApiKey> {
  const { state } = await log.load(apiKeyAggregate, keyId)
  if (state.status === 'active') return state
  throw changedMeanwhile()
}

/** What the database found beyond the maker is what it held no more by then. */
function explain(refusal: unknown): unknown {
  return isForbidden(refusal) ? changedMeanwhile() : refusal
}

function changedMeanwhile(): PermissionDenied {
  return new PermissionDenied(
    'beyond_own_key',
    'The API key of the request was revoked, has expired or was changed meanwhile.',
  )
}

/** Whether no address may use it that could not, and none of its limits is higher. */
function isNarrower(after: Opened, before: Opened): boolean {
  return isWithin(after.ipAllowlist, before.ipAllowlist) && isWithinLimits(after.limits, before.limits)
}

type Opened = Pick<KeyTerms, 'ipAllowlist' | 'limits'>

/** @throws NotFound, also for a key of another tenant or environment */
async function loadOwned(log: EventLog, owner: Owner, keyId: string): Promise<Loaded<KnownApiKey>> {
  const loaded = await log.load(apiKeyAggregate, keyId)
  if (!isOwned(loaded, owner)) throw noSuchApiKey()
  return loaded
}

function isOwned(loaded: Loaded<ApiKeyState>, owner: Owner): loaded is Loaded<KnownApiKey> {
  const { state } = loaded
  return state.status !== 'unknown' && state.tenantId === owner.tenantId && state.environment === owner.environment
}

/**
 * @param names whether the request has a field for each of the terms
 * @throws PermissionDenied `beyond_own_key`, which names the first that is too much
 */
function requireGiven(
  terms: Pick<KeyTerms, 'grants' | 'expiresAt'> & Opened,
  own: KeyTerms,
  { names = false }: { readonly names?: boolean } = {},
): void {
  const beyond = (field: string, what: string, remedy: string) => beyondOwn(what, remedy, names ? field : undefined)
  const more = terms.grants.filter((scope) => !own.grants.includes(scope))
  if (more.length > 0) throw beyond('scopes', `does not hold ${more.join(', ')}`, 'leave that out')
  if (own.expiresAt !== null && (terms.expiresAt === null || terms.expiresAt > own.expiresAt))
    throw beyond('expires_at', `expires at ${own.expiresAt}`, 'send no later time')
  if (!isWithin(terms.ipAllowlist, own.ipAllowlist))
    throw beyond('ip_allowlist', `may be used from ${own.ipAllowlist.join(', ')} alone`, 'send addresses within these')
  if (!isWithinLimits(terms.limits, own.limits))
    throw beyond('limits', 'has limits that the other would not have', 'keep these')
}

function beyondOwn(what: string, remedy: string, field?: string): PermissionDenied {
  const message = `A key can give only what it holds itself, and the API key of the request ${what}: ${remedy}, or use a key that holds more.`
  return new PermissionDenied('beyond_own_key', message, field)
}

/** In their only form. @throws ValidationFailed `invalid_range`, `excludes_caller` */
function requireRanges(texts: readonly string[], address: string, force: boolean): readonly string[] {
  const items: Omit<ErrorItem, 'type'>[] = []
  const ranges = texts.flatMap((text, n) => {
    const range = canonicalRange(text)
    if (range !== null) return [range]
    const field = `ip_allowlist[${n}]`
    const message = `${field} must be an IP address or a CIDR range without bits behind its prefix, such as 203.0.113.0/24, and ${JSON.stringify(text)} is not.`
    items.push({ field, code: 'invalid_range', message })
    return []
  })
  if (items.length > 0) throw new ValidationFailed(items)
  if (!force && ranges.length > 0 && !rangeCheck(ranges)(address)) {
    const message = `ip_allowlist must contain the address of this request, ${address}: add it, or send force true if the key is for another place.`
    throw ValidationFailed.field('ip_allowlist', 'excludes_caller', message)
  }
  return [...new Set(ranges)]
}
