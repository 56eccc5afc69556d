/**
 * The best route that one transaction of one router can make in a generated market: every path, every set of up to three
 * that share no pool and the best ones grown further, and every split in steps of a hundredth, then of a thousandth.
 */
import type { AmountType } from '../../../src/swaps/events.ts'
import { SWAP_GAS } from '../../../src/swaps/gas-rules.ts'
import { betweenTokens, jointVenue, type Venue } from '../../../src/swaps/market.ts'
import { exchange } from './world-node.ts'
import type { World, WorldPool } from './worlds.ts'

export type Wanted = {
  readonly amountType: AmountType
  readonly amount: bigint
  /** What so much gas costs in base units of the other asset. */
  readonly costOf: (gas: number) => number
}

export type WorldPath = {
  readonly venue: Venue
  readonly hops: readonly { readonly pool: WorldPool; readonly from: string }[]
}

export type Best = {
  /** What comes out, or goes in as a negative number, less the gas. */
  readonly worth: number
  readonly paths: readonly WorldPath[]
  readonly shares: readonly number[]
}

const STEPS = 100
const FINE_STEPS = 1_000
/** Sets that are grown beyond three paths. */
const GROWN = 40
const MOST_PATHS = 6

function pathsOf({ market, pools, from, to }: World): readonly WorldPath[] {
  return market.venues.flatMap((venue) => {
    const own = pools.filter((pool) => pool.venue === venue)
    const hops = (a: string, b: string) =>
      own.filter(({ tokens }) => tokens.includes(a) && tokens.includes(b)).map((pool) => ({ pool, from: a }))
    const over = betweenTokens(market, [from.address, to.address]).flatMap((token) =>
      hops(from.address, token).flatMap((first) => hops(token, to.address).map((second) => [first, second])),
    )
    return [...hops(from.address, to.address).map((hop) => [hop]), ...over].map((path) => ({ venue, hops: path }))
  })
}

/** What a path gives for a part, or takes as a negative number; minus infinity where it cannot. */
function worthOf({ hops }: WorldPath, amount: bigint, { amountType }: Wanted): number {
  if (amount === 0n) return 0
  const exactOutput = amountType === 'exact_output'
  let current = amount
  for (const { pool, from } of exactOutput ? [...hops].reverse() : hops) {
    const given = exchange(pool, from, { exactOutput, amount: current })
    if (given === null) return Number.NEGATIVE_INFINITY
    current = given
  }
  return (exactOutput ? -1 : 1) * Number(current)
}

type Table = {
  readonly path: WorldPath
  /** By steps of the amount, without gas. */
  readonly worth: readonly number[]
  readonly gas: number
  readonly pools: ReadonlySet<string>
}
type Found = {
  readonly tables: readonly Table[]
  readonly steps: readonly number[]
  readonly base: number
  readonly worth: number
}

export function bestRoute(world: World, wanted: Wanted): Best | null {
  const { amountType, amount } = wanted
  const paths = pathsOf(world)
  const tables = paths.map((path): Table => {
    const worth = Array.from({ length: STEPS + 1 }, (_, k) =>
      worthOf(path, (amount * BigInt(k)) / BigInt(STEPS), wanted),
    )
    const gas = wanted.costOf(Number(SWAP_GAS.up_to_osaka.swap[path.venue.kind].hop) * path.hops.length)
    return { path, worth, gas, pools: new Set(path.hops.map(({ pool }) => pool.address)) }
  })
  const baseOf = ({ kind }: Venue) => wanted.costOf(Number(SWAP_GAS.up_to_osaka.swap[kind].base))
  const alone = tables.map((table) => withBase(distribute([table]), baseOf(table.path.venue)))
  const joint = world.market.venues
    .filter(({ kind }) => kind === 'v3')
    .flatMap((router) => {
      const own = tables.filter(({ path }) => jointVenue(router, path.venue, amountType) === router)
      return bestSplits(own).map((found) => withBase(found, baseOf(router)))
    })
  const [best] = [...alone, ...joint].sort(byWorth)
  return best === undefined || best.worth === Number.NEGATIVE_INFINITY ? null : refine(best, wanted)
}

/** Less the gas of the call of the router. */
function withBase(found: Found, base: number): Found {
  return { ...found, base, worth: found.worth - base }
}

function byWorth(a: Found, b: Found): number {
  return a.worth === b.worth ? 0 : a.worth < b.worth ? 1 : -1
}

function bestSplits(tables: readonly Table[]): readonly Found[] {
  const useful = tables.filter(({ worth }) => worth.some((one, k) => k > 0 && one > Number.NEGATIVE_INFINITY))
  let best: Found[] = []
  const keep = (found: Found) => {
    best.push(found)
    if (best.length > GROWN * 4) best = best.sort(byWorth).slice(0, GROWN)
  }
  for (const [i, a] of useful.entries())
    for (const [j, b] of useful.slice(i + 1).entries()) {
      if (!areApart(a, b)) continue
      keep(distribute([a, b]))
      for (const c of useful.slice(i + j + 2)) if (areApart(a, c) && areApart(b, c)) keep(distribute([a, b, c]))
    }
  let grown = best.sort(byWorth).slice(0, GROWN)
  const all = [...grown]
  for (let count = 4; count <= MOST_PATHS; count += 1) {
    const larger = grown.flatMap(({ tables: set }) =>
      useful.filter((one) => set.every((other) => areApart(one, other))).map((one) => distribute([...set, one])),
    )
    grown = larger.sort(byWorth).slice(0, GROWN)
    all.push(...grown)
  }
  return all
}

function areApart(a: Table, b: Table): boolean {
  for (const pool of a.pools) if (b.pools.has(pool)) return false
  return true
}

/** Each step to the path that gives most for it, which is the best where no pool gives more for the next one. */
function distribute(tables: readonly Table[]): Found {
  const steps = tables.map(() => 0)
  const at = (i: number, k: number) => tables[i]?.worth[k] ?? Number.NEGATIVE_INFINITY
  for (let n = 0; n < STEPS; n += 1) {
    let [best, most] = [0, Number.NEGATIVE_INFINITY]
    for (let i = 0; i < tables.length; i += 1) {
      const own = steps[i] ?? 0
      const gain = at(i, own + 1) - at(i, own)
      if (gain > most) [best, most] = [i, gain]
    }
    steps[best] = (steps[best] ?? 0) + 1
  }
  const worth = steps.reduce((sum, k, i) => sum + at(i, k) - (k > 0 ? (tables[i]?.gas ?? 0) : 0), 0)
  return { tables, steps, base: 0, worth }
}

/** Ever smaller steps from one path to another, in exact amounts. */
function refine({ tables, steps, base }: Found, wanted: Wanted): Best {
  const paths = tables.map(({ path }) => path)
  const shares = steps.map((k) => (k * FINE_STEPS) / STEPS)
  const value = (i: number, share: number) => {
    const path = paths[i]
    if (path === undefined || share < 0) return Number.NEGATIVE_INFINITY
    return worthOf(path, (wanted.amount * BigInt(share)) / BigInt(FINE_STEPS), wanted)
  }
  for (const step of [5, 2, 1])
    for (const [to, from] of paths.flatMap((_, a) => paths.map((_path, b) => [a, b] as const))) {
      const own = (i: number) => shares[i] ?? 0
      const gain = () =>
        value(to, own(to) + step) + value(from, own(from) - step) - value(to, own(to)) - value(from, own(from))
      while (to !== from && own(from) >= step && gain() > 0) {
        shares[to] = own(to) + step
        shares[from] = own(from) - step
      }
    }
  return {
    paths,
    shares,
    worth: shares.reduce((sum, share, i) => sum + value(i, share) - (share > 0 ? (tables[i]?.gas ?? 0) : 0), -base),
  }
}
