/** What a transaction counts towards limits of the API key that requests it, and of the policy: from the request to its outcome. */
import { nativeAsset } from '../core/assets.ts'
import { KeyLimitReached, type PolicyRefused } from '../core/errors.ts'
import { formatAmount } from '../core/money.ts'
import { policyLimitOf, type Reserving } from '../core/policy-limit.ts'
import { type Asked, type Reservation, reserve, roomIn, type SpendLimit, type SpentBy } from '../core/spend-limits.ts'
import type { SpendChange } from '../event-log/aggregate.ts'
import { type LimitReached, limitTimeUnknown } from '../event-log/append.ts'
import type { AssetRef, Intent } from './intent.ts'
import type { TransactionState } from './state.ts'

/** The part of the context that limits are read from. */
export type LimitContext = {
  /** The limits of whoever requests it; none for a process of this installation. */
  readonly limitsOf: (actor: string) => Promise<readonly SpendLimit[]>
  /** US dollars for a whole unit; `null` when unknown. */
  readonly usdPriceOf: (tenantId: string, chainId: number, assetId: string) => Promise<string | null>
}

type Spending = Pick<
  Intent,
  'tenantId' | 'network' | 'chainId' | 'asset' | 'amount' | 'outflows' | 'call' | 'reserved' | 'requestedAt'
>

/**
 * What a transaction reserves of the limits of its key: what leaves the wallet, and the fee that is held.
 *
 * @param uncountedFor why no limit counts what it does: a sentence; undefined if limits do
 * @throws KeyLimitReached for what no limit is about, as soon as amounts are limited
 */
export async function reservationsFor(
  { limitsOf, usdPriceOf }: LimitContext,
  actor: string,
  intent: Spending,
  uncountedFor: string | undefined,
): Promise<readonly Reservation[]> {
  const limits = await limitsOf(actor)
  if (limits.length === 0) return []
  const { tenantId, chainId, network, requestedAt, reserved, call } = intent
  const isCounted = limits.some(({ of }) => of !== 'transactions')
  if (isCounted && uncountedFor !== undefined) throw uncounted(uncountedFor)
  if (isCounted && call?.spends.some(({ amount }) => amount !== '0'))
    throw uncounted('This call allows others to spend, at any time.')
  const isPriced = limits.some(({ of }) => of === 'usd')
  const part = async ({ assetId, symbol, decimals }: AssetRef, amount: bigint, isFee: boolean): Promise<Asked> => {
    const usd = isPriced ? await usdPriceOf(tenantId, chainId, assetId) : null
    return { assetId, symbol, decimals, amount, usd, isFee }
  }
  const fee = reserved.gasLimit * reserved.maxFeePerGas
  const asked = await Promise.all([
    part(nativeAsset(network, chainId), fee, true),
    part(intent.asset, intent.amount, false),
    ...(intent.outflows ?? []).map(({ asset, amount }) => part(asset, amount, false)),
  ])
  const reservations = reserve(limits, asked, requestedAt)
  if (!('why' in reservations)) return reservations
  const { symbol, why } = reservations
  throw uncounted(why === 'no_limit' ? `None of them is about ${symbol}.` : `The price of ${symbol} is not known.`)
}

function uncounted(why: string): KeyLimitReached {
  const message = `The limits of the API key do not allow this transaction. ${why} Use an API key without limits of amounts.`
  return new KeyLimitReached(null, message, {})
}

/** The part of the context that says what the append compares limits with. For requests that are not appended. */
export type RoomContext = {
  readonly readSpent: (counters: readonly Reservation[], now: string) => Promise<SpentBy>
  /** The time of the newest block that the follower of a chain has recorded, ms; `null` if it has recorded none. */
  readonly newestBlockMs: (chainId: number) => Promise<number | null>
}

/** As `newest_time` of the append. */
const AHEAD_OF_BLOCKS_MS = 300_000

/**
 * Refuses what the append would refuse by then: for requests that are not appended.
 *
 * @param intents what the request would open, all of one wallet
 * @throws KeyLimitReached, PolicyRefused; Unavailable `limit_time_unknown`
 */
export async function requireRoom(
  { readSpent, newestBlockMs }: RoomContext,
  intents: readonly (Reserving & Pick<Intent, 'chainId' | 'requestedAt'>)[],
): Promise<void> {
  const [first] = intents
  const reservations = totalsOf(
    intents.flatMap((intent) => intent.reservations ?? []).filter(({ mustFit }) => mustFit !== false),
  )
  if (first === undefined || reservations.length === 0) return
  const { chainId, requestedAt: now } = first
  const [spent, newestMs] = await Promise.all([readSpent(reservations, now), newestBlockMs(chainId)])
  const untilMs = (newestMs ?? Number.NEGATIVE_INFINITY) + AHEAD_OF_BLOCKS_MS
  if (reservations.some(({ bucket }) => Date.parse(bucket) > untilMs)) throw limitTimeUnknown()
  const short = reservations.flatMap(({ counter, amount: needed, limit, windowSeconds }) => {
    const { left, roomAt } = roomIn({ amount: `${limit}`, windowSeconds }, spent.get(counter) ?? [], { needed, now })
    return needed > left ? [{ counter, left, needed, roomAt: roomAt === null ? null : new Date(roomAt) }] : []
  })
  // As the append: the one that has room last, or never.
  const last = (one: (typeof short)[number]) => one.roomAt?.getTime() ?? Number.POSITIVE_INFINITY
  const [worst] = short.toSorted((a, b) => (last(a) === last(b) ? (a.counter < b.counter ? -1 : 1) : last(b) - last(a)))
  if (worst !== undefined) throw limitRefusal(worst, intents)
}

/** One for each counter. */
function totalsOf(reservations: readonly Reservation[]): readonly Reservation[] {
  const totals = new Map<string, Reservation>()
  for (const one of reservations) {
    const known = totals.get(one.counter)
    totals.set(one.counter, known === undefined ? one : { ...known, amount: known.amount + one.amount })
  }
  return [...totals.values()]
}

type Reached = Pick<LimitReached, 'counter' | 'left' | 'needed' | 'roomAt'>

/** What is left of the limit, in its units, and when there is room. @param intents what the commit opens */
export function limitRefusal(reached: Reached, intents: readonly Reserving[]): KeyLimitReached | PolicyRefused {
  return policyLimitOf(reached, intents) ?? keyLimitOf(reached, intents)
}

function keyLimitOf(
  { counter, left, needed, roomAt }: Reached,
  intents: readonly Pick<Intent, 'reservations'>[],
): KeyLimitReached {
  const found = intents.flatMap(({ reservations = [] }) => reservations).find((one) => one.counter === counter)
  const written = (amount: bigint) => formatAmount(amount, found?.decimals ?? 0)
  const availableAt = roomAt?.toISOString() ?? null
  const when =
    availableAt === null
      ? 'It is more than the limit: send less.'
      : `There is room for it at ${availableAt}, or send less.`
  return new KeyLimitReached(
    { counter, left, needed, availableAt },
    `The API key has ${written(left)} ${found?.unit} left, and this needs ${written(needed)} ${found?.unit}. ${when}`,
    {
      limit: written(found?.limit ?? 0n),
      left: written(left),
      needed: written(needed),
      unit: found?.unit ?? null,
      window_seconds: found?.windowSeconds ?? null,
      available_at: availableAt,
    },
  )
}

/** What an opening event reserves for good. */
export function reservedSpends(reservations: readonly Reservation[] = []): readonly SpendChange[] {
  return reservations.map(({ counter, bucket, amount }) => ({ counter, bucket, delta: amount }))
}

/** What its outcome leaves of what it reserved. */
function countedOf(transaction: TransactionState): (reservation: Reservation) => bigint {
  if (transaction.state === 'unknown') return () => 0n
  const { state, inclusion } = transaction
  if (state === 'failed' || (state === 'cancelled' && inclusion === null)) return () => 0n
  return state === 'reverted' || state === 'cancelled' ? ({ kept }) => kept : ({ amount }) => amount
}

/** What changes between two states: `spend_changes` of the append does the same. */
export function spendChanges(before: TransactionState, after: TransactionState): readonly SpendChange[] {
  if (after.state === 'unknown' || after.intent.reservations === undefined) return []
  const [counted, counting] = [countedOf(before), countedOf(after)]
  return after.intent.reservations.flatMap((reservation) => {
    const delta = counting(reservation) - counted(reservation)
    return delta === 0n ? [] : [{ counter: reservation.counter, bucket: reservation.bucket, delta }]
  })
}
