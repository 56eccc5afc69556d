/** Which webhooks want which public events. */
import type { Pool } from 'pg'
import type { Published } from '../capability.ts'
import type { LoggedEvent, LogOwner } from '../event-log/read-logged.ts'
import { EVENTS } from '../event-log/sql.ts'
import type { SubscriptionPosition } from '../event-log/subscription.ts'
import type { Row } from '../event-log/table-rows.ts'

/** The type of the event that tries a receiver. */
export const TEST = 'webhook.test'

/** What of a public event decides who gets it. */
export type Told = {
  readonly type: string
  readonly resource: { readonly type: string; readonly id: string }
  readonly data: unknown
}

/** A webhook that is not deleted. Also disabled ones: what they miss is sent when they are enabled. */
export type Target = LogOwner & {
  readonly webhookId: string
  /** Where its first event is in the log: it gets later events only. */
  readonly createdAt: SubscriptionPosition
  /** `null` for all. */
  readonly types: ReadonlySet<string> | null
  readonly walletIds: ReadonlySet<string> | null
}

type TargetRow = Pick<
  Row<'webhooks', { types: unknown; wallet_ids: unknown }>,
  'webhook_id' | 'tenant_id' | 'environment' | 'types' | 'wallet_ids'
> & { readonly transaction_id: string; readonly position: string }

/** Every webhook of every tenant, but those whose row nobody can read: they must not hold up the others. */
export async function loadTargets(pool: Pool): Promise<Target[]> {
  const { rows } = await pool.query<TargetRow>({
    name: 'webhook_targets',
    text: `SELECT w.webhook_id, w.tenant_id, w.environment, w.types, w.wallet_ids, e.transaction_id::text, e.position
             FROM webhooks AS w JOIN ${EVENTS} AS e ON e.stream_id = 'webhook-' || w.webhook_id AND e.stream_version = 1
            WHERE w.status <> 'deleted'`,
  })
  return rows.flatMap((row) => {
    const [types, walletIds] = [namesIn(row.types), namesIn(row.wallet_ids)]
    if (types === undefined || walletIds === undefined) return []
    const { webhook_id: webhookId, tenant_id: tenantId, environment } = row
    const createdAt = { transactionId: BigInt(row.transaction_id), position: BigInt(row.position) }
    return [{ webhookId, tenantId, environment, createdAt, types, walletIds }]
  })
}

/** `null` for all; undefined if it is no list. */
function namesIn(list: unknown): ReadonlySet<string> | null | undefined {
  return list === null ? null : Array.isArray(list) ? new Set(list) : undefined
}

/** Targets by tenant and environment. */
export type TargetsOf = (owner: LogOwner) => readonly Target[]

export function byOwner(targets: readonly Target[]): TargetsOf {
  const all = new Map<string, Target[]>()
  for (const target of targets) {
    const own = all.get(keyOf(target)) ?? []
    own.push(target)
    all.set(keyOf(target), own)
  }
  return (owner) => all.get(keyOf(owner)) ?? []
}

function keyOf({ tenantId, environment }: LogOwner): string {
  return `${environment} ${tenantId}`
}

/** Before an event is rendered: whether the target may want what the publisher makes of it. */
export function mayWant({ types }: Target, publisher: Published, { type }: Pick<LoggedEvent, 'type'>): boolean {
  return types === null || (publisher.events[type] ?? []).some((caused) => types.has(caused) || caused === TEST)
}

/** Whether the target wants a public event of its tenant. */
export function wants({ webhookId, types, walletIds }: Target, event: Told): boolean {
  // It tries one receiver, whatever its filters, and no other.
  if (event.type === TEST) return event.resource.id === webhookId
  if (types !== null && !types.has(event.type)) return false
  if (walletIds === null) return true
  const walletId = walletOf(event)
  return walletId !== null && walletIds.has(walletId)
}

/**
 * The wallet that a public event is about: a function of the event alone. `null` for events about no wallet, which a
 * webhook for certain wallets does not get.
 */
function walletOf({ resource, data }: Told): string | null {
  if (resource.type === 'wallet') return resource.id
  const walletId = typeof data === 'object' && data !== null && 'wallet_id' in data ? data.wallet_id : null
  return typeof walletId === 'string' ? walletId : null
}
