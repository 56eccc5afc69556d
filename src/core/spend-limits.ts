/**
 * Limits of what may be spent in a window of time, and what a request reserves of them. A limit counts on a counter, which is
 * a name: several limits can share one, and any owner can have them. Pure.
 *
 * The time is divided into buckets of a 96th of the window. What counts at a time is what was reserved in its bucket, in the
 * 96 before and in later ones. So no interval as long as the window has more than the limit, whatever the clocks say.
 */

/** `amount`: base units of the asset, millionths of a US dollar, or transactions; decimal digits. */
export type SpendLimit = {
  readonly counter: string
  readonly amount: string
  /** A multiple of 60. */
  readonly windowSeconds: number
  /** Whose it is: the limits of each holder must be about what is spent. Omitted if all are of one. */
  readonly holder?: string
} & (
  | { readonly of: 'asset'; readonly assetId: string; readonly symbol: string; readonly decimals: number }
  | { readonly of: 'usd' }
  | { readonly of: 'transactions' }
)

/** What a transaction counts towards a limit. */
export type Reservation = {
  readonly counter: string
  /** A symbol, `USD` or `transactions`, and the decimals of its amounts: for those who are told. */
  readonly unit: string
  readonly decimals: number
  /** The begin of the bucket, ISO 8601 UTC with milliseconds. */
  readonly bucket: string
  readonly windowSeconds: number
  /** The limit by then. */
  readonly limit: bigint
  readonly amount: bigint
  /** What of it stays spent once a block has the transaction, whatever its outcome: the fee. */
  readonly kept: bigint
  /** The rule of the policy whose limit it is; missing for a limit of an API key. */
  readonly rule?: string
  /** It only counts, for a version of the policy that refuses nothing yet. */
  readonly mustFit?: false
}

export const USD_DECIMALS = 6
export const SHORTEST_WINDOW_SECONDS = 3_600
export const LONGEST_WINDOW_SECONDS = 2_678_400
const BUCKETS = 96

/** The begin of the bucket of a time, ISO 8601 UTC: a whole number of milliseconds for each multiple of 60 seconds. */
export function bucketOf(now: string, windowSeconds: number): string {
  const widthMs = (windowSeconds * 1_000) / BUCKETS
  const begin = Math.floor(Date.parse(now) / widthMs) * widthMs
  // Requests come at about one time, and their limits mostly have one window.
  if (begin !== lastBegin) [lastBegin, lastText] = [begin, new Date(begin).toISOString()]
  return lastText
}

let [lastBegin, lastText] = [Number.NaN, '']

/** What counts at a time in a bucket of a counter; `bucket` as `bucketOf` returns it. */
export type Spent = { readonly bucket: string; readonly amount: bigint }
export type SpentBy = ReadonlyMap<string, readonly Spent[]>

/**
 * What is left of a limit at a time, as the append counts it. `roomAt`: when `needed` fits, if nothing else is spent until then,
 * ISO 8601 UTC; `null` if it fits now, or is more than the limit.
 *
 * @param spent every bucket of its counter that may count
 */
export function roomIn(
  { amount, windowSeconds }: Pick<SpendLimit, 'amount' | 'windowSeconds'>,
  spent: readonly Spent[],
  { needed, now }: { readonly needed: bigint; readonly now: string },
): { readonly left: bigint; readonly roomAt: string | null } {
  const since = beginOfWindow(now, windowSeconds)
  const counted = spent.filter(({ bucket }) => bucket >= since)
  const left = BigInt(amount) - counted.reduce((sum, one) => sum + one.amount, 0n)
  const isShort = needed > left && needed <= BigInt(amount)
  const roomAt = isShort ? firstRoom(counted, windowSeconds * 1_000, needed - left) : null
  return { left: left < 0n ? 0n : left, roomAt }
}

/** When the oldest buckets that have the missing amount together no longer count. */
function firstRoom(counted: readonly Spent[], lengthMs: number, missing: bigint): string | null {
  let freed = 0n
  const last = counted
    .toSorted((one, other) => (one.bucket < other.bucket ? -1 : 1))
    .find(({ amount }) => {
      freed += amount
      return freed >= missing
    })
  return last === undefined ? null : new Date(Date.parse(last.bucket) + lengthMs + lengthMs / BUCKETS).toISOString()
}

/** The oldest bucket that counts at a time. */
export function beginOfWindow(now: string, windowSeconds: number): string {
  return new Date(Date.parse(bucketOf(now, windowSeconds)) - windowSeconds * 1_000).toISOString()
}

/** What is asked for of an asset; `usd` is the price of a whole unit, `null` when unknown. */
export type Asked = {
  readonly assetId: string
  readonly symbol: string
  readonly decimals: number
  readonly amount: bigint
  readonly usd: string | null
  /** A fee is paid in any case; it may be of an asset that no limit is about. */
  readonly isFee: boolean
}

export type Uncovered = { readonly symbol: string; readonly why: 'no_limit' | 'no_price' }

/** What a transaction reserves of each limit; or the first asset that may not be spent at all, as soon as amounts are limited. */
export function reserve(
  limits: readonly SpendLimit[],
  asked: readonly Asked[],
  now: string,
): readonly Reservation[] | Uncovered {
  for (const holder of new Set(limits.map((limit) => limit.holder))) {
    const held = limits.filter((limit) => limit.holder === holder)
    const uncovered = firstUncovered(held, asked)
    if (uncovered !== null) return uncovered
  }
  return limits.flatMap((limit) => {
    const { counter, of, windowSeconds } = limit
    const { unit, decimals } = unitOf(limit)
    const parts = asked.map((one) => ({ units: countedOf(limit, one), isFee: one.isFee }))
    const sum = (counted: typeof parts) => counted.reduce((total, { units }) => total + units, 0n)
    const amount = of === 'transactions' ? 1n : sum(parts)
    const kept = of === 'transactions' ? 1n : sum(parts.filter(({ isFee }) => isFee))
    const bucket = bucketOf(now, windowSeconds)
    return amount === 0n
      ? []
      : [{ counter, unit, decimals, bucket, windowSeconds, limit: BigInt(limit.amount), amount, kept }]
  })
}

function firstUncovered(limits: readonly SpendLimit[], asked: readonly Asked[]): Uncovered | null {
  if (!limits.some(({ of }) => of !== 'transactions')) return null
  const hasUsd = limits.some(({ of }) => of === 'usd')
  const isNamed = (assetId: string) => limits.some((limit) => limit.of === 'asset' && limit.assetId === assetId)
  for (const { assetId, symbol, amount, usd, isFee } of asked) {
    if (amount === 0n) continue
    if (hasUsd && usd === null) return { symbol, why: 'no_price' }
    if (!isFee && !hasUsd && !isNamed(assetId)) return { symbol, why: 'no_limit' }
  }
  return null
}

/** What its amounts are of. */
export function unitOf(limit: SpendLimit): { readonly unit: string; readonly decimals: number } {
  if (limit.of === 'asset') return { unit: limit.symbol, decimals: limit.decimals }
  return limit.of === 'usd' ? { unit: 'USD', decimals: USD_DECIMALS } : { unit: 'transactions', decimals: 0 }
}

function countedOf(limit: SpendLimit, { assetId, amount, decimals, usd }: Asked): bigint {
  if (limit.of === 'asset') return limit.assetId === assetId ? amount : 0n
  return limit.of === 'usd' ? millionthsOf(amount, decimals, usd ?? '0') : 0n
}

const PRICE_DECIMALS = 18

/**
 * Millionths of US dollars, rounded up: many small amounts count for no less than they are worth.
 *
 * @param usd for a whole unit, at most 18 decimals
 */
export function millionthsOf(amount: bigint, decimals: number, usd: string): bigint {
  const price = readPrice(usd)
  const divisor = powerOfTen(decimals + PRICE_DECIMALS - USD_DECIMALS)
  return (amount * price + divisor - 1n) / divisor
}

/** Few assets have one, and many requests are valued with it. */
const MAX_PRICES = 1_000
const prices = new Map<string, bigint>()

function readPrice(usd: string): bigint {
  const known = prices.get(usd)
  if (known !== undefined) return known
  const [whole = '0', fraction = ''] = usd.split('.')
  const price = BigInt(whole + fraction.padEnd(PRICE_DECIMALS, '0'))
  if (prices.size >= MAX_PRICES) prices.clear()
  prices.set(usd, price)
  return price
}

const POWERS: bigint[] = []

function powerOfTen(exponent: number): bigint {
  const known = POWERS[exponent]
  if (known !== undefined) return known
  const power = 10n ** BigInt(exponent)
  POWERS[exponent] = power
  return power
}
