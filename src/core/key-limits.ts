/**
 * What a key may spend in a window of time, and how many requests a day it may make. A key that another one makes counts on the counters of its maker too: all keys
 * that come from one do no more than it may. Pure.
 */
import type { ScopeRules } from './scopes.ts'
import { type SpendLimit, unitOf } from './spend-limits.ts'

/** Requests of a day (UTC, by the clock of the database). No transaction reserves of it. */
export type RequestLimit = {
  readonly of: 'requests'
  readonly counter: string
  readonly amount: string
  readonly windowSeconds: typeof DAY_SECONDS
}

/** `inherited`: of the key that made this one, as it was then; it can only be changed there. */
export type KeyLimit = (SpendLimit | RequestLimit) & { readonly inherited: boolean }

/** As it is asked for, without its counter. */
export type AskedLimit = SpendLimit | RequestLimit extends infer Limit
  ? Limit extends SpendLimit | RequestLimit
    ? Omit<Limit, 'counter'>
    : never
  : never

export const DAY_SECONDS = 86_400
const MAX_LIMITS = 50

/** Those of a new key. @param own of the key that makes it */
export function newLimits(keyId: string, asked: readonly AskedLimit[], own: readonly KeyLimit[]): readonly KeyLimit[] {
  return [...asked.map((limit) => ownLimit(keyId, limit, [])), ...own.map((limit) => ({ ...limit, inherited: true }))]
}

/** Those of a key whose own ones are replaced. What was spent stays counted, unless the asset or the window is another. */
export function changedLimits(
  keyId: string,
  asked: readonly AskedLimit[],
  before: readonly KeyLimit[],
): readonly KeyLimit[] {
  const own = before.filter(({ inherited }) => !inherited)
  return [...asked.map((limit) => ownLimit(keyId, limit, own)), ...before.filter(({ inherited }) => inherited)]
}

/** All of a key begin with one name, also after a rotation: `holderOf` tells the keys of a chain apart by it. */
function ownLimit(keyId: string, asked: AskedLimit, own: readonly KeyLimit[]): KeyLimit {
  const [first] = own
  const known = own.find((limit) => subjectOf(limit) === subjectOf(asked))
  const holder = first === undefined ? keyId : holderOf(first)
  return { ...asked, inherited: false, counter: known?.counter ?? `${holder} ${subjectOf(asked)}` } as KeyLimit
}

/**
 * Those of a key that replaces another: its own, and of those of the key that replaces it the lower amount. The maker also gives what it
 * has got since.
 *
 * @param own of the key that replaces it
 */
export function rotatedLimits(
  limits: readonly KeyLimit[],
  own: readonly KeyLimit[],
  { isMaker }: { readonly isMaker: boolean },
): readonly KeyLimit[] {
  const lowered = limits.map((limit) => {
    const now = own.find(({ counter }) => counter === limit.counter)
    return now !== undefined && BigInt(now.amount) < BigInt(limit.amount) ? { ...limit, amount: now.amount } : limit
  })
  const added = own.filter(({ counter }) => !limits.some((limit) => limit.counter === counter))
  // Of a key that replaces what replaced it before, both have the counters of one holder.
  const isOwn = (one: KeyLimit) => limits.some((limit) => !limit.inherited && holderOf(limit) === holderOf(one))
  return isMaker
    ? [...lowered, ...added.map((limit) => ({ ...limit, inherited: limit.inherited || !isOwn(limit) }))]
    : lowered
}

/** The key whose limit it was first: the amounts that the limits of each holder are about are judged apart. */
function holderOf({ counter }: Pick<KeyLimit, 'counter'>): string {
  return counter.split(' ', 1)[0] ?? counter
}

/** What transactions reserve. */
export function spendLimitsOf(limits: readonly KeyLimit[]): readonly SpendLimit[] {
  return limits.flatMap((limit) => (limit.of === 'requests' ? [] : [{ ...limit, holder: holderOf(limit) }]))
}

/** What each request counts towards. */
export function requestLimitsOf(limits: readonly KeyLimit[]): readonly RequestLimit[] {
  return limits.filter((limit) => limit.of === 'requests')
}

/** What its amounts are of. */
export function unitOfLimit(limit: KeyLimit): { readonly unit: string; readonly decimals: number } {
  return limit.of === 'requests' ? { unit: 'requests', decimals: 0 } : unitOf(limit)
}

function subjectOf(limit: AskedLimit): string {
  return `${limit.of === 'asset' ? limit.assetId : limit.of} ${limit.windowSeconds}`
}

/**
 * Whether no more can be done with the limits than with the others: each of those is among them, with at most its amount; and
 * what is added is about no asset that any holder of the others leaves out. As `are_limits_within` of the append.
 */
export function isWithinLimits(limits: readonly KeyLimit[], others: readonly KeyLimit[]): boolean {
  // A counter is only a name: what is counted on it must be the same.
  const isSame = (one: KeyLimit, other: KeyLimit) =>
    one.counter === other.counter && subjectOf(one) === subjectOf(other)
  const isKept = (other: KeyLimit) =>
    limits.some((limit) => isSame(limit, other) && BigInt(limit.amount) <= BigInt(other.amount))
  const added = limits.filter((limit) => !others.some((other) => isSame(limit, other)))
  const held = [...new Set(others.map(holderOf))].map((holder) => others.filter((one) => holderOf(one) === holder))
  return others.every(isKept) && added.every((limit) => held.every((before) => isAboutNoMore(limit, before)))
}

/** A limit of amounts also lets what it is about be spent. */
function isAboutNoMore(limit: KeyLimit, others: readonly KeyLimit[]): boolean {
  if (!isOfAmounts(limit) || !others.some(isOfAmounts)) return true
  return others.some(
    (other) => other.of === 'usd' || (other.of === 'asset' && limit.of === 'asset' && other.assetId === limit.assetId),
  )
}

function isOfAmounts({ of }: Pick<KeyLimit, 'of'>): boolean {
  return of === 'asset' || of === 'usd'
}

/** What is wrong with limits beside these scopes, as a code and the rest of a sentence; null if nothing is. */
export function unfitLimits(
  limits: readonly KeyLimit[],
  grants: readonly string[],
  known: ScopeRules,
): readonly [string, string] | null {
  const subjects = limits.filter(({ inherited }) => !inherited).map(subjectOf)
  if (limits.length > MAX_LIMITS)
    return ['too_many', `must be at most ${MAX_LIMITS}, with those of the keys that made it.`]
  if (new Set(subjects).size < subjects.length) return ['duplicate', 'must name each asset once for each window.']
  const uncounted = grants.filter((scope) => known[scope]?.isUncounted)
  if (uncounted.length === 0 || !limits.some(isOfAmounts)) return null
  return ['limits_with_scope', `cannot bound what is done with ${uncounted.join(', ')}: leave these scopes out.`]
}
