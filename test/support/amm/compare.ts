/** Quotes of generated markets beside the best route that there is. */
import type { Asset } from '../../../src/core/assets.ts'
import { ratioOf } from '../../../src/swaps/edges.ts'
import type { AmountType, PoolRoute } from '../../../src/swaps/events.ts'
import { fairPrice } from '../../../src/swaps/feeds.ts'
import { findRoutes } from '../../../src/swaps/find-route.ts'
import { createPoolBook } from '../../../src/swaps/pools.ts'
import { amountsOf } from '../../../src/swaps/route.ts'
import { bestRoute } from './best-route.ts'
import { worldNode } from './world-node.ts'
import { type World, type WorldToken, worldOf } from './worlds.ts'

/** Wei. */
const GAS_PRICE = 5n * 10n ** 9n

export type Order = { readonly seed: number; readonly usd: number; readonly amountType: AmountType }

export type Compared = Order & {
  /** What the quote is worth less than the best route, after gas, in hundredths of a percent. */
  readonly lossBps: number
  /** Round trips to the node. */
  readonly trips: number
  /** Without the answers of the node. */
  readonly ms: number
  readonly legs: number
}

/** `null` where no route can exchange the amount, and none is quoted. @throws Error where only one of both is so */
export async function compareWithBest(order: Order): Promise<Compared | null> {
  const world = worldOf(order.seed)
  const { amountType } = order
  const [fixed, other] = amountType === 'exact_input' ? [world.from, world.to] : [world.to, world.from]
  const amount = BigInt(Math.floor((order.usd / fixed.usd) * 10 ** fixed.decimals))
  const value = fairPrice(world.feeds, world.market.wrapped, other.address)
  const costOf = (gas: number) => (value === null ? 0 : gas * Number(GAS_PRICE) * ratioOf(value))
  const node = worldNode(world)
  const startedAt = performance.now()
  const quoted = await quote(world, { amount, amountType }, node).catch(() => null)
  const ms = performance.now() - startedAt - node.spentMs()
  const best = bestRoute(world, { amountType, amount, costOf })
  if (quoted === null && best === null) return null
  if (quoted === null || best === null)
    throw new Error(`${quoted === null ? 'no quote' : 'no best route'} of ${JSON.stringify(order)}`)
  const { amountIn, amountOut } = amountsOf(quoted.route)
  const worth = (amountType === 'exact_input' ? Number(amountOut) : -Number(amountIn)) - costOf(Number(quoted.gas))
  return {
    ...order,
    lossBps: ((best.worth - worth) / Math.abs(best.worth)) * 10_000,
    trips: node.trips(),
    ms,
    legs: (quoted.route as PoolRoute).legs.length,
  }
}

async function quote(
  { market, feeds, from, to }: World,
  { amount, amountType }: { readonly amount: bigint; readonly amountType: AmountType },
  client: ReturnType<typeof worldNode>,
) {
  const ports = { client, multicall3: null, market, pools: createPoolBook(() => 0) }
  const terms = { amountType, slippageBps: 0, maxPriceImpactBps: 10_000, deadlineSeconds: 600 }
  const wanted = {
    from: assetOf(from),
    to: assetOf(to),
    amount,
    terms,
    feeds,
    gasPrice: GAS_PRICE,
    wallet: from.address,
  }
  const [found] = (await findRoutes(ports, wanted)).routes
  return found
}

function assetOf({ symbol, decimals, address }: WorldToken): Asset {
  return { assetId: symbol, symbol, decimals, contract: address }
}

export type Summary = {
  readonly quotes: number
  readonly within2: number
  readonly worstBps: number
  readonly mostTrips: number
  readonly medianMs: number
  readonly slowMs: number
}

export function summarize(compared: readonly Compared[]): Summary {
  const times = compared.map(({ ms }) => ms).sort((a, b) => a - b)
  const timeAt = (part: number) => Math.round(10 * (times[Math.floor(times.length * part)] ?? 0)) / 10
  return {
    quotes: compared.length,
    within2: compared.filter(({ lossBps }) => lossBps <= 2).length / compared.length,
    worstBps: Math.max(...compared.map(({ lossBps }) => lossBps)),
    mostTrips: Math.max(...compared.map(({ trips }) => trips)),
    medianMs: timeAt(0.5),
    slowMs: timeAt(0.95),
  }
}
