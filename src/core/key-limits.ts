/**
 * What a key may spend in a window of time. A key that another one makes counts on the counters of its maker too: all keys
 * that come from one spend no more than it may. Pure.
 */
import type { SpendLimit } from './spend-limits.ts'

/** `inherited`: of the key that made this one, as it was then; it can only be changed there. */
export type KeyLimit = SpendLimit & { readonly inherited: boolean }

/** As it is asked for, without its counter. */
export type AskedLimit = SpendLimit extends infer Limit
  ? Limit extends SpendLimit
    ? Omit<Limit, 'counter'>
    : never
  : never

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

function ownLimit(keyId: string, asked: AskedLimit, own: readonly KeyLimit[]): KeyLimit {
  const known = own.find((limit) => subjectOf(limit) === subjectOf(asked))
  return { ...asked, inherited: false, counter: known?.counter ?? `${keyId} ${subjectOf(asked)}` } as KeyLimit
}

function subjectOf(limit: AskedLimit): string {
  return `${limit.of === 'asset' ? limit.assetId : limit.of} ${limit.windowSeconds}`
}

/**
 * Whether no more can be spent with the limits than with the others: each of those is among them, with at most its amount, and
 * they are about no asset that the others leave out.
 */
export function isWithinLimits(limits: readonly KeyLimit[], others: readonly KeyLimit[]): boolean {
  const isKept = (other: KeyLimit) =>
    limits.some(
      ({ counter, amount, windowSeconds }) =>
        counter === other.counter && windowSeconds === other.windowSeconds && BigInt(amount) <= BigInt(other.amount),
    )
  return others.every(isKept) && limits.every((limit) => isAboutNoMore(limit, others))
}

/** A limit of amounts also lets what it is about be spent. */
function isAboutNoMore(limit: KeyLimit, others: readonly KeyLimit[]): boolean {
  const ofAmounts = others.filter(({ of }) => of !== 'transactions')
  if (limit.of === 'transactions' || ofAmounts.length === 0) return true
  return ofAmounts.some(
    (other) => other.of === 'usd' || (other.of === 'asset' && limit.of === 'asset' && other.assetId === limit.assetId),
  )
}

/** Scopes that spend what no limit counts: with a signature or the key of a wallet anybody can, at any time. */
const UNCOUNTED = ['signatures:write', 'recovery:export', 'recovery:write']

/** What is wrong with limits beside these scopes, as a code and the rest of a sentence; null if nothing is. */
export function unfitLimits(limits: readonly KeyLimit[], grants: readonly string[]): readonly [string, string] | null {
  const subjects = limits.filter(({ inherited }) => !inherited).map(subjectOf)
  if (limits.length > MAX_LIMITS)
    return ['too_many', `must be at most ${MAX_LIMITS}, with those of the keys that made it.`]
  if (new Set(subjects).size < subjects.length) return ['duplicate', 'must name each asset once for each window.']
  const uncounted = grants.filter((scope) => UNCOUNTED.includes(scope))
  if (uncounted.length === 0 || limits.every(({ of }) => of === 'transactions')) return null
  return ['limits_with_scope', `cannot bound what is done with ${uncounted.join(', ')}: leave these scopes out.`]
}
