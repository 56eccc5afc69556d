/** What a request counts towards a limit: reservations in the shape in which the append takes them. Pure. */

import type { Per } from '../core/policy.ts'
import { bucketOf, type Reservation } from '../core/spend-limits.ts'
import type { Value } from './compile.ts'
import type { CompiledLimit } from './compile-limit.ts'
import { ANY, type Intent, type Judged, type Moved } from './intent.ts'

export type RuleReservation = Reservation & { readonly rule: string }

export type LimitedRequest = {
  readonly request: Judged
  /** Indexes of the intents that the limit is about. */
  readonly about: readonly number[]
  /** In US dollars, of all intents of the request. */
  readonly values: readonly Value[]
  /** Intents with which the fee counts: it is one fee, and each of several recipients has it counted. */
  readonly payers: readonly Intent[]
  readonly feeValue: Value
  /** Begins of buckets of the time of the request, by the length of the window. */
  readonly buckets: Map<number, string>
}

export type Counted = {
  /** In the order of their counters. */
  readonly reservations: readonly RuleReservation[]
  /** Something that has no bound is not counted. */
  readonly isUncounted: boolean
  /** Something that has no price is not counted. */
  readonly isUnpriced: boolean
}

type Sum = { readonly key: string; amount: bigint; kept: bigint }

export function countLimit(limit: CompiledLimit, limited: LimitedRequest): Counted {
  const { request, about, values, payers, feeValue } = limited
  const sums: Sum[] = []
  let [isUncounted, isUnpriced] = [false, false]
  for (const n of about) {
    const intent = request.intents[n] as Intent
    const amount = amountOf(limit, intent.moves, values[n] ?? 0n)
    if (amount === 'uncounted') isUncounted = true
    else if (amount === 'unknown_price') isUnpriced = true
    else add(sums, limit, keyOf(limit.per, request, intent), amount, limit.of === 'count' ? 1n : 0n)
  }
  const [payer] = payers
  const fee = payer === undefined || limit.of === 'count' ? 0n : amountOf(limit, payer.moves, feeValue)
  if (typeof fee !== 'bigint') isUnpriced = true
  else if (fee > 0n) addFee(sums, limit, limited, fee)
  if (sums.length > 1) sums.sort((a, b) => (a.key < b.key ? -1 : 1))
  const reservations: RuleReservation[] = []
  for (const sum of sums) if (sum.amount > 0n) reservations.push(reservationOf(limit, limited, sum))
  return { reservations, isUncounted, isUnpriced }
}

/** Once for each counter. */
function addFee(sums: Sum[], limit: CompiledLimit, { request, payers }: LimitedRequest, fee: bigint): void {
  const [payer] = payers
  if (payers.length > 1)
    for (const key of new Set(payers.map((one) => keyOf(limit.per, request, one)))) add(sums, limit, key, fee, fee)
  else if (payer !== undefined) add(sums, limit, keyOf(limit.per, request, payer), fee, fee)
}

/** Requests count once for each counter. */
function add(sums: Sum[], { of }: CompiledLimit, key: string | null, amount: bigint, kept: bigint): void {
  if (key === null) return
  const found = sums.length === 0 ? undefined : sums.find((sum) => sum.key === key)
  if (found === undefined) sums.push({ key, amount, kept })
  else if (of !== 'count') {
    found.amount += amount
    found.kept += kept
  }
}

function amountOf({ of, assetKey }: CompiledLimit, moves: Moved | null, usd: Value): Value {
  if (of === 'count') return 1n
  if (of === 'usd') return usd
  if (moves === null || (moves.key !== assetKey && moves.key !== ANY)) return 0n
  return moves.amount === ANY ? 'uncounted' : moves.amount
}

/** Whose counter it is; `null` for nobody's. */
function keyOf(per: Per, { walletId, apiKey }: Judged, { recipient }: Intent): string | null {
  if (per === 'tenant') return ''
  return per === 'wallet' ? walletId : per === 'recipient' ? recipient : apiKey === ANY ? null : apiKey
}

/** The counter is that of what is counted: it goes on when the rule has another amount, another name or another version. */
function reservationOf(limit: CompiledLimit, { request, buckets }: LimitedRequest, sum: Sum): RuleReservation {
  const { rule, name, unit, decimals, windowSeconds, most } = limit
  const { key, amount, kept } = sum
  let bucket = buckets.get(windowSeconds)
  if (bucket === undefined) {
    bucket = bucketOf(request.at, windowSeconds)
    buckets.set(windowSeconds, bucket)
  }
  const counter = `policy ${request.tenantId} ${request.environment} ${name}${key === '' ? '' : ` ${key}`}`
  return { counter, unit, decimals, bucket, windowSeconds, limit: most, amount, kept, rule }
}
