/** Which webhooks want which public events. */
import type { Pool } from 'pg'
import type { Published } from '../capability.ts'
import type { Environment } from '../core/networks.ts'
import { upcast } from '../event-log/aggregate.ts'
import type { LoggedEvent, LogOwner } from '../event-log/read-logged.ts'
import { EVENTS } from '../event-log/sql.ts'
import { comparePlaces, type SubscriptionPosition } from '../event-log/subscription.ts'
import type { Row } from '../event-log/table-rows.ts'
import { webhookAggregate } from './aggregate.ts'
import { PAYLOADS, type Payload, type WebhookEvent, type WebhookTerms } from './events.ts'
import { KNOWN } from './sql.ts'

/** The type of the event that tries a receiver. */
export const TEST = 'webhook.test'

/** What of a public event decides who gets it. */
export type Told = {
  readonly type: string
  readonly resource: { readonly type: string; readonly id: string }
  readonly data: unknown
}

/**
 * What a webhook that is not deleted gets of a part of the log. Also a disabled one: what it misses is sent when it is
 * enabled.
 */
export type Target = LogOwner & {
  readonly webhookId: string
  /** The event that chose these terms. They are for the events after it, */
  readonly after: SubscriptionPosition
  /** up to the event that changed them; `null` for none. */
  readonly until: SubscriptionPosition | null
  /** `null` for all. */
  readonly types: ReadonlySet<string> | null
  readonly walletIds: ReadonlySet<string> | null
  readonly payload: Payload
}

/** The events whose data are the terms of a webhook from there on. */
const CHOOSING = ['WebhookCreated', 'WebhookChanged'] as const satisfies readonly WebhookEvent['type'][]
const CHOSEN = CHOOSING.map((type) => `'${type}'`).join(', ')

type TargetRow = Pick<Row<'webhooks'>, 'webhook_id' | 'tenant_id' | 'environment'> & {
  readonly type: string
  readonly schema_version: number
  readonly data: unknown
  readonly transaction_id: string
  readonly position: string
}

const COLUMNS = `w.webhook_id, w.tenant_id, w.environment, e.type, e.schema_version, e.data, e.transaction_id::text, e.position`

/** The event `e` with the terms of a webhook, an expression of SQL, that were chosen last before something. */
export const chosenLast = (webhookId: string, before: string) => `LATERAL (SELECT * FROM ${EVENTS} AS e
   WHERE e.stream_id = 'webhook-' || ${webhookId} AND e.type IN (${CHOSEN}) AND ${before} ORDER BY e.stream_version DESC LIMIT 1) AS e`

/**
 * Every webhook of every tenant with its terms at a place of the log, or as it was created later; but none whose terms
 * nobody can read: they must not hold up the others.
 */
export async function loadTargets(pool: Pool, { transactionId, position }: SubscriptionPosition): Promise<Target[]> {
  const { rows } = await pool.query<TargetRow>({
    name: 'webhook_targets',
    text: `SELECT ${COLUMNS} FROM webhooks AS w CROSS JOIN
             ${chosenLast('w.webhook_id', '(e.stream_version = 1 OR (e.transaction_id, e.position) <= ($1::xid8, $2::bigint))')}
            WHERE w.${KNOWN}`,
    values: [transactionId.toString(), position.toString()],
  })
  return rows.flatMap((row) => toTarget(row) ?? [])
}

/** The targets of the next events of the log. @param targets those of the events before */
export async function nextTargets(
  pool: Pool,
  targets: readonly Target[],
  events: readonly LoggedEvent[],
): Promise<readonly Target[]> {
  const current = targets.filter(({ until }) => until === null)
  const changes = events.filter(({ streamId, type }) => streamId.startsWith(STREAM) && CHANGING.has(type))
  if (changes.length === 0) return current
  const { rows } = await pool.query<TargetRow>({
    name: 'changed_webhook_targets',
    text: `SELECT ${COLUMNS} FROM unnest($1::text[], $2::integer[]) AS changed(stream_id, stream_version)
             JOIN ${EVENTS} AS e USING (stream_id, stream_version) JOIN webhooks AS w ON w.webhook_id = substr(e.stream_id, ${STREAM.length + 1})
            WHERE e.type IN (${CHOSEN}) AND w.${KNOWN}`,
    values: [changes.map(({ streamId }) => streamId), changes.map(({ streamVersion }) => streamVersion)],
  })
  const placesOf = new Map<string, SubscriptionPosition[]>()
  for (const { streamId, place } of changes) {
    const id = streamId.slice(STREAM.length)
    placesOf.set(id, [...(placesOf.get(id) ?? []), place])
  }
  const deleted = new Set(changes.flatMap(({ type, streamId }) => (type === 'WebhookDeleted' ? [streamId] : [])))
  const changed = rows.flatMap((row) => toTarget(row) ?? [])
  // One that was created at a later place than the log was read to is found again there.
  const isFoundAgain = ({ webhookId, after }: Target) =>
    (placesOf.get(webhookId) ?? []).some((place) => comparePlaces(place, after) === 0)
  return [...current.filter((target) => !isFoundAgain(target)), ...changed]
    .filter(({ webhookId }) => !deleted.has(`${STREAM}${webhookId}`))
    .map((target) => {
      const isLater = (place: SubscriptionPosition) => comparePlaces(place, target.after) > 0
      return { ...target, until: (placesOf.get(target.webhookId) ?? []).find(isLater) ?? null }
    })
}

const STREAM = 'webhook-'
const CHANGING: ReadonlySet<string> = new Set<WebhookEvent['type']>([...CHOOSING, 'WebhookDeleted'])

/** Whether an event at this place of the log is judged by these terms. The event that changes them is judged by those before. */
export function isInForce({ after, until }: Pick<Target, 'after' | 'until'>, place: SubscriptionPosition): boolean {
  return comparePlaces(after, place) < 0 && (until === null || comparePlaces(place, until) <= 0)
}

/** Undefined if nobody can read the terms. */
function toTarget(row: TargetRow): Target | undefined {
  const terms = readTerms(row)
  if (terms === undefined) return undefined
  const { webhook_id: webhookId, tenant_id: tenantId, environment } = row
  const after = { transactionId: BigInt(row.transaction_id), position: BigInt(row.position) }
  return { webhookId, tenantId, environment: environment as Environment, after, until: null, ...terms }
}

/** Which events a webhook gets, from the event that says it; undefined if nobody can read it. */
export function readTerms({
  type,
  schema_version: version,
  data,
}: Pick<TargetRow, 'type' | 'schema_version' | 'data'>): Pick<Target, 'types' | 'walletIds' | 'payload'> | undefined {
  try {
    const event = upcast<WebhookEvent>(webhookAggregate.schemas, type, version, data)
    const terms = event.data as Partial<Record<keyof WebhookTerms, unknown>>
    const [types, walletIds] = [namesIn(terms.types), namesIn(terms.walletIds)]
    const payload = PAYLOADS.find((one) => one === terms.payload)
    return types === undefined || walletIds === undefined || payload === undefined
      ? undefined
      : { types, walletIds, payload }
  } catch {
    return undefined
  }
}

/** `null` for all; undefined if it is no list. */
export function namesIn(list: unknown): ReadonlySet<string> | null | undefined {
  return list === null ? null : Array.isArray(list) ? new Set(list as string[]) : undefined
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
