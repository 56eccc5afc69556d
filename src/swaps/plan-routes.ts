/**
 * Plans which routes are asked for: the best paths for the whole amount, and the best splits over paths that share no
 * pool and that one router can swap on together. What is expected of each path is computed from what its pools answered
 * for parts of the amount. Pure; no amount of a plan is a quote.
 */
import type { PlannedPath } from './candidates.ts'
import type { AmountType } from './events.ts'
import { jointVenue, type Venue } from './market.ts'
import type { Asked } from './quote-paths.ts'

export type RoutePlan = {
  /** The exchange whose router swaps on all legs. */
  readonly router: Venue
  /** Their amounts add up to the whole. */
  readonly legs: readonly Asked[]
}

export type Planning = {
  readonly amountType: AmountType
  /** Base units of the fixed amount. */
  readonly amount: bigint
  /** What one more path costs in gas, in base units of the other asset; `null` when unknown. */
  readonly costOf: ((path: PlannedPath) => number) | null
}

/** Paths asked for the whole amount, and for each kind of exchange at least. */
const MOST_WHOLE = 6
const WHOLE_OF_KIND = 2
const MOST_SPLITS = 3
const MOST_VARIANTS = 3
/** The part of a share that a variant moves to the others. */
const VARIED = 0.04
const MOST_LEGS = 6
/** Paths that a split begins with, and those that may be added to it. */
const STARTS = 4
const ADDITIONS = 24
/** Without a price of gas, each further path must win this part of the amount. */
const LEAST_GAIN = 0.0002
/** Steps of the first distribution of the amount; then they are halved, down to a thousandth. */
const FIRST_STEPS = 16
const LAST_STEP = 1 / 1_024

type Split = {
  readonly paths: readonly PlannedPath[]
  /** Of the fixed amount; they add up to 1. */
  readonly shares: readonly number[]
  /** Higher is better: what comes out, or goes in as a negative number, less the gas of its paths. */
  readonly worth: number
}

export function plansOf(candidates: readonly PlannedPath[], planning: Planning): readonly RoutePlan[] {
  const singles = candidates
    .map((path) => splitOf([path], [1], planning))
    .filter(({ worth }) => worth > Number.NEGATIVE_INFINITY)
    .sort(byWorth)
  const kinds = (['v2', 'v3'] as const).flatMap((kind) =>
    singles.filter(({ paths: [path] }) => path?.venue.kind === kind).slice(0, WHOLE_OF_KIND),
  )
  const whole = [...new Set([...singles.slice(0, MOST_WHOLE), ...kinds])]
  const splits = routersOf(mayWin(candidates, singles, planning) ? candidates : [])
    .flatMap((router) => splitsOf(router, candidates, planning).map((split) => ({ router, split })))
    .sort((a, b) => byWorth(a.split, b.split))
    .filter(isOtherSet)
    .slice(0, MOST_SPLITS)
    .flatMap((one, i) => (i === 0 ? [one, ...variantsOf(one.split).map((split) => ({ ...one, split }))] : [one]))
  const alone = whole.flatMap((split) => split.paths.map(({ venue: router }) => ({ router, split })))
  return [...alone, ...splits].map(({ router, split }) => ({ router, legs: legsOf(split, planning.amount) }))
}

function byWorth(a: Split, b: Split): number {
  return a.worth === b.worth ? 0 : a.worth < b.worth ? 1 : -1
}

/** Whether a split could win more than the gas of one more path: if every unit had the best price that any path has. */
function mayWin(candidates: readonly PlannedPath[], [best]: readonly Split[], planning: Planning): boolean {
  if (best === undefined || planning.costOf === null) return true
  const { costOf, amount } = planning
  const total = Number(amount)
  const part = total * LAST_STEP
  const ideal = Math.max(...candidates.map((path) => (worthOf(path, part, planning) * total) / part))
  return ideal - 2 * Math.min(...candidates.map(costOf)) > best.worth
}

/** Whether no better split is over the same paths. */
function isOtherSet(
  { split }: { readonly split: Split },
  at: number,
  all: readonly { readonly split: Split }[],
): boolean {
  const isSame = ({ paths }: Split) =>
    paths.length === split.paths.length && paths.every((path) => split.paths.includes(path))
  return all.findIndex((other) => isSame(other.split)) === at
}

/** The best split with a little less in each of its largest parts: its pools were not asked for exactly these amounts. */
function variantsOf({ paths, shares, worth }: Split): readonly Split[] {
  const largest = shares.map((share, i) => ({ share, i })).sort((a, b) => b.share - a.share)
  return largest.slice(0, MOST_VARIANTS).map(({ share, i }) => {
    const less = share * (1 - VARIED)
    const factor = (1 - less) / (1 - share)
    return { paths, worth, shares: shares.map((own, k) => (k === i ? less : own * factor)) }
  })
}

/** The exchanges whose router can swap on several paths in one call. */
function routersOf(candidates: readonly PlannedPath[]): readonly Venue[] {
  return [...new Set(candidates.map(({ venue }) => venue))].filter(({ kind }) => kind === 'v3')
}

/** Splits of a router: from its best paths, the best further path is added as long as it wins more than its gas. */
function splitsOf(router: Venue, candidates: readonly PlannedPath[], planning: Planning): readonly Split[] {
  const own = candidates.filter(({ venue }) => jointVenue(router, venue, planning.amountType) === router)
  const ranked = own.map((path) => splitOf([path], [1], planning)).sort(byWorth)
  const additions = additionsOf(own, planning)
  return ranked.slice(0, STARTS).flatMap((start) => {
    const grown: Split[] = []
    let current = start
    while (current.paths.length < MOST_LEGS) {
      const next = bestAddition(current, additions, planning)
      if (next === null) break
      grown.push(next)
      current = next
    }
    return grown
  })
}

/** Those that give most for a small part of the amount, which is what a further path gets. */
function additionsOf(paths: readonly PlannedPath[], planning: Planning): readonly PlannedPath[] {
  const small = Number(planning.amount) / FIRST_STEPS
  const rate = (path: PlannedPath) => (planning.amountType === 'exact_input' ? path.out(small) : -path.in(small))
  return paths
    .map((path) => ({ path, rate: rate(path) }))
    .sort((a, b) => b.rate - a.rate)
    .slice(0, ADDITIONS)
    .map(({ path }) => path)
}

function bestAddition(current: Split, additions: readonly PlannedPath[], planning: Planning): Split | null {
  const used = new Set(current.paths.flatMap(({ hops }) => hops.map(({ pool }) => pool)))
  const part = Number(planning.amount) * LAST_STEP
  const last = current.paths.map((path, i) => {
    const share = (current.shares[i] ?? 0) * Number(planning.amount)
    return worthOf(path, share, planning) - worthOf(path, share - part, planning)
  })
  // No pool gives more for the next unit than for the last one, so another path must begin above where these end.
  const least = Math.min(...last)
  const grown = additions
    .filter(({ hops }) => hops.every(({ pool }) => !used.has(pool)))
    .filter((path) => !(worthOf(path, part, planning) <= least))
    .map((path) => distribute([...current.paths, path], planning))
    .sort(byWorth)
  const [best] = grown
  return best !== undefined && best.worth > current.worth ? best : null
}

/** The best shares: first in equal steps, each to the path that gives most for it, then moved in ever smaller ones. */
function distribute(paths: readonly PlannedPath[], planning: Planning): Split {
  const total = Number(planning.amount)
  const value = (path: number, share: number) => worthOf(paths[path], share * total, planning)
  const shares = paths.map(() => 0)
  const gain = (path: number, step: number) => value(path, (shares[path] ?? 0) + step) - value(path, shares[path] ?? 0)
  const indexes = paths.map((_, i) => i)
  for (let n = 0; n < FIRST_STEPS; n += 1) {
    const best = indexes.reduce((a, b) => (gain(b, 1 / FIRST_STEPS) > gain(a, 1 / FIRST_STEPS) ? b : a), 0)
    shares[best] = (shares[best] ?? 0) + 1 / FIRST_STEPS
  }
  for (let step = 1 / FIRST_STEPS / 2; step >= LAST_STEP; step /= 2) {
    for (const [to, from] of indexes.flatMap((a) => indexes.map((b) => [a, b] as const))) {
      while (to !== from && (shares[from] ?? 0) >= step && gain(to, step) + gain(from, -step) > 0) {
        shares[to] = (shares[to] ?? 0) + step
        shares[from] = (shares[from] ?? 0) - step
      }
    }
  }
  return splitOf(paths, shares, planning)
}

/** What a path gives for a part of the amount, or takes as a negative number. */
function worthOf(path: PlannedPath | undefined, amount: number, { amountType }: Planning): number {
  if (path === undefined || amount <= 0) return 0
  return amountType === 'exact_input' ? path.out(amount) : -path.in(amount)
}

function splitOf(paths: readonly PlannedPath[], shares: readonly number[], planning: Planning): Split {
  const used = paths.map((path, i) => ({ path, share: shares[i] ?? 0 })).filter(({ share }) => share > 0)
  const total = Number(planning.amount)
  const given = used.reduce((sum, { path, share }) => sum + worthOf(path, share * total, planning), 0)
  const { costOf } = planning
  const cost =
    costOf === null
      ? Math.abs(given) * LEAST_GAIN * (used.length - 1)
      : used.reduce((sum, { path }) => sum + costOf(path), 0)
  return {
    paths: used.map(({ path }) => path),
    shares: used.map(({ share }) => share),
    worth: given === 0 ? Number.NEGATIVE_INFINITY : given - cost,
  }
}

/** In base units: the last path takes what the rounding of the others leaves. */
function legsOf({ paths, shares }: Split, amount: bigint): RoutePlan['legs'] {
  const UNITS = 1 / LAST_STEP
  const first = shares.slice(0, -1).map((share) => (amount * BigInt(Math.round(share * UNITS))) / BigInt(UNITS))
  const rest = amount - first.reduce((sum, part) => sum + part, 0n)
  return paths.flatMap((candidate, i) => {
    const part = i === paths.length - 1 ? rest : (first[i] ?? 0n)
    return part > 0n ? [{ candidate, amount: part }] : []
  })
}
