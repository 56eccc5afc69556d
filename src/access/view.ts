/** An API key in the form of the API. Neither its token nor the digest is part of it. */
import { toInstant } from '../core/ids.ts'
import { toIso } from '../core/instants.ts'
import { type KeyLimit, unitOfLimit } from '../core/key-limits.ts'
import { formatAmount } from '../core/money.ts'
import { roomIn, type SpentBy } from '../core/spend-limits.ts'
import type { ReadOrWrittenRow } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { ApiKeyStatus } from './decider.ts'
import type { RevocationReason } from './events.ts'
import type { ApiKeyLimitReached } from './limit-events.ts'
import type { limitReachedSchema, limitsSchema } from './limit-schemas.ts'
import type { TakenBy } from './request-limits.ts'
import type { apiKeyAtEventSchema, apiKeySchema } from './schemas.ts'

export type ApiKeyView = View<typeof apiKeySchema>
export type ApiKeyAtEvent = View<typeof apiKeyAtEventSchema>

export type ApiKeyRow = ReadOrWrittenRow<
  'api_keys',
  { readonly revoked_reason: RevocationReason | null; readonly limits: readonly KeyLimit[] }
>

/** What was spent in the windows of limits, and what was taken of the requests of the day. */
export type Used = { readonly spent: SpentBy; readonly taken: TakenBy }

/** What follows from the log alone. */
export function atEvent(row: ApiKeyRow): ApiKeyAtEvent {
  return {
    key_id: row.key_id,
    environment: row.environment,
    label: row.label,
    scopes: row.scopes,
    expires_at: row.expires_at === null ? null : toIso(row.expires_at),
    revoked_at: row.revoked_at === null ? null : toIso(row.revoked_at),
    created_at: toIso(row.created_at),
    ...(row.ip_allowlist.length > 0 ? { ip_allowlist: row.ip_allowlist } : {}),
    ...(row.limits.length > 0 ? { limits: row.limits.map(limitView) } : {}),
    ...(row.issued_by === null ? {} : { issued_by: row.issued_by }),
    ...(row.rotated_from === null ? {} : { rotated_from: row.rotated_from }),
    ...(row.rotated_to === null ? {} : { rotated_to: row.rotated_to }),
    ...(row.revoked_reason === 'reported' ? { revoked_reason: row.revoked_reason } : {}),
  }
}

/**
 * As the read model and the time say it.
 *
 * @param row `last_used_on` as `2026-11-30`
 * @param used by counter; `null` if it is not said what is left
 */
export function toView(
  row: ApiKeyRow & { readonly last_used_on: string | null },
  used: Used | null,
  nowMs: number,
): ApiKeyView {
  return {
    key_id: row.key_id,
    environment: row.environment,
    label: row.label,
    status: statusOf(row, nowMs),
    scopes: row.scopes,
    effective_scopes: row.grants,
    ip_allowlist: row.ip_allowlist,
    limits: row.limits.map((limit) => ({ ...limitView(limit), ...leftView(limit, used, nowMs) })),
    expires_at: row.expires_at === null ? null : toIso(row.expires_at),
    last_used_on: row.last_used_on,
    revoked_at: row.revoked_at === null ? null : toIso(row.revoked_at),
    revoked_reason: row.revoked_reason,
    issued_by: row.issued_by,
    rotated_from: row.rotated_from,
    rotated_to: row.rotated_to,
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
  }
}

function leftView(limit: KeyLimit, used: Used | null, nowMs: number) {
  if (used === null) return {}
  const { spent, taken: requests } = used
  if (limit.of === 'requests') {
    const { taken = 0n, endsAt = null } = requests.get(limit.counter) ?? {}
    const isUsedUp = taken >= BigInt(limit.amount)
    return { left: isUsedUp ? '0' : `${BigInt(limit.amount) - taken}`, available_at: isUsedUp ? endsAt : null }
  }
  const { left, roomAt } = roomIn(limit, spent.get(limit.counter) ?? [], { needed: 1n, now: toInstant(nowMs) })
  return { left: formatAmount(left, unitOfLimit(limit).decimals), available_at: roomAt }
}

function statusOf({ revoked_at, expires_at }: ApiKeyRow, nowMs: number): ApiKeyStatus {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(toIso(expires_at)) <= nowMs ? 'expired' : 'active'
}

/** What did not fit into a limit of a key. */
export function limitReachedView(
  key_id: string,
  { environment, limit, left, needed, availableAt, reachedAt }: ApiKeyLimitReached['data'],
): View<typeof limitReachedSchema> {
  const { unit, decimals } = unitOfLimit(limit)
  const written = (amount: string) => formatAmount(BigInt(amount), decimals)
  const amounts = { left: written(left), needed: written(needed), unit }
  return { key_id, environment, limit: limitView(limit), ...amounts, available_at: availableAt, reached_at: reachedAt }
}

function limitView(limit: KeyLimit): View<typeof limitsSchema>[number] {
  const { of, amount, windowSeconds: window_seconds, inherited } = limit
  if (of === 'transactions') return { transactions: Number(amount), window_seconds, inherited }
  if (of === 'requests') return { requests_per_day: Number(amount), window_seconds, inherited }
  const written = formatAmount(BigInt(amount), unitOfLimit(limit).decimals)
  if (of === 'usd') return { amount_usd: written, window_seconds, inherited }
  return { asset_id: limit.assetId, amount: written, window_seconds, inherited }
}
