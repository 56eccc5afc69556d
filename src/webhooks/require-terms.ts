/**
 * Checks what the owner of a webhook chooses. A webhook sends without an API key, so that whoever has one send or sign
 * something must be allowed to read it.
 */
import type { ApiContext, RouteContext } from '../api-context.ts'
import { closest } from '../core/closest.ts'
import { type ErrorItem, NotFound, PermissionDenied, ValidationFailed } from '../core/errors.ts'
import { allows, type Guard, scopeOf } from '../core/scopes.ts'
import type { Owner } from '../core/tenants.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { webhookAggregate } from './aggregate.ts'
import type { KnownWebhook } from './decider.ts'
import type { SignatureVersion, WebhookTerms } from './events.ts'
import { createIsAllowedAddress } from './public-address.ts'
import { requireReceiverUrl } from './receiver-url.ts'
import { TEST } from './targets.ts'

/** A type of public events, with the scope that its data needs. */
export type DeliveredType = { readonly type: string; readonly scope: Guard; readonly isAboutWallet: boolean }

/** What requests about webhooks need. */
export type WebhookContext = Pick<
  ApiContext,
  'pool' | 'log' | 'newId' | 'config' | 'clock' | 'accept' | 'findWallet'
> & {
  /** Every type of public events. */
  readonly delivered: readonly DeliveredType[]
}

/** @throws NotFound `webhook_not_found` */
export async function loadWebhook({ log }: Pick<WebhookContext, 'log'>, id: string): Promise<Loaded<KnownWebhook>> {
  const { state, ...loaded } = await log.load(webhookAggregate, id)
  if (state.status === 'unknown') throw new NotFound('webhook')
  return { ...loaded, state }
}

export function deliveredTypes(types: RouteContext['publicTypes']): DeliveredType[] {
  return types.map(({ type, publisher }) => ({
    type,
    scope: publisher.scope,
    isAboutWallet: isAboutWallet(publisher),
  }))
}

/** Whether each of its events is about a wallet, so that a webhook for certain wallets can get them. */
function isAboutWallet({
  resource,
  schema,
}: Pick<RouteContext['publicTypes'][number]['publisher'], 'resource' | 'schema'>): boolean {
  return resource === 'wallet' || 'wallet_id' in (schema.properties ?? {})
}

/** Who has a webhook send something. */
export type Reader = Owner & { readonly scopes: ReadonlySet<string> }

/** All that a webhook may still send: deliveries wait, and are sent again, as was chosen before them. */
export function everSent({ everFull }: Pick<KnownWebhook, 'everFull'>): Pick<WebhookTerms, 'types' | 'payload'> {
  return { types: everFull, payload: 'full' }
}

/**
 * Whether the reader may read all that is sent.
 *
 * @throws PermissionDenied `event_scope_missing`
 */
export function requireReadable(
  { delivered }: Pick<WebhookContext, 'delivered'>,
  { types, payload }: Pick<WebhookTerms, 'types' | 'payload'>,
  { scopes }: Reader,
): void {
  if (!allows(scopes, 'events:read')) throw scopeMissing('events:read', 'A webhook sends events')
  if (payload === 'thin') return
  const chosen = delivered.filter(({ type }) => types === null || types.includes(type))
  const hidden = chosen.find(({ scope }) => !allows(scopes, scope))
  if (hidden !== undefined) throw scopeMissing(hidden.scope, `The webhook would send the data of ${hidden.type}`)
}

/**
 * The terms, with the URL in its normal form.
 *
 * @throws ValidationFailed for the URL, `unknown_event_type`, `type_without_wallet`, `wallet_not_found`; PermissionDenied
 *   `event_scope_missing`
 */
export async function requireTerms(ctx: WebhookContext, terms: WebhookTerms, reader: Reader): Promise<WebhookTerms> {
  const { delivered, findWallet } = ctx
  const { allowsHttp, allowedNetworks } = ctx.config.webhooks
  const url = requireReceiverUrl(terms.url, { allowsHttp, isAllowedAddress: createIsAllowedAddress(allowedNetworks) })
  const unknown = [
    ...unknownTypes(
      terms.types ?? [],
      delivered.map(({ type }) => type),
    ),
    ...(terms.walletIds === null ? [] : withoutWallet(terms.types ?? [], delivered)),
    ...(await unknownWallets(terms.walletIds ?? [], (id) => findWallet(reader, id))),
  ]
  if (unknown.length > 0) throw new ValidationFailed(unknown)
  requireReadable(ctx, terms, reader)
  return { ...terms, url }
}

/** @throws ValidationFailed `invalid_signatures` without `v1`, which libraries of Standard Webhooks need */
export function requireSignatures(signatures: readonly SignatureVersion[]): void {
  if (signatures.includes('v1')) return
  const message = 'signatures must contain v1, which every delivery has: send ["v1"], or ["v1", "v1a"].'
  throw ValidationFailed.field('signatures', 'invalid_signatures', message)
}

/** What the owner chose, without the rest of the state. */
export function termsOf({ url, description, types, walletIds, payload }: WebhookTerms): WebhookTerms {
  return { url, description, types, walletIds, payload }
}

/** @throws ValidationFailed `unknown_event_type`, with the nearest type */
export function requireTypes(types: readonly string[], known: readonly string[]): void {
  const unknown = unknownTypes(types, known)
  if (unknown.length > 0) throw new ValidationFailed(unknown)
}

type Item = Omit<ErrorItem, 'type'>

function unknownTypes(types: readonly string[], known: readonly string[]): Item[] {
  return types.flatMap((type, n) => {
    if (known.includes(type)) return []
    const meant = closest(type, known)
    const hint = meant === undefined ? 'use a type from docs/events.md.' : `did you mean ${meant}?`
    const message = `types[${n}] must be a type of event, and ${JSON.stringify(type)} is not: ${hint}`
    return [{ field: `types[${n}]`, code: 'unknown_event_type', message }]
  })
}

/** They would never be sent. */
function withoutWallet(types: readonly string[], known: readonly DeliveredType[]): Item[] {
  return types.flatMap((type, n) => {
    if (type === TEST || known.find((one) => one.type === type)?.isAboutWallet !== false) return []
    const message = `types[${n}] must be a type of events about a wallet, because the webhook has wallet_ids, and ${type} is not: omit it, or set wallet_ids to null.`
    return [{ field: `types[${n}]`, code: 'type_without_wallet', message }]
  })
}

/** A wallet of another tenant looks the same as one that does not exist. */
async function unknownWallets(ids: readonly string[], find: (id: string) => Promise<unknown>): Promise<Item[]> {
  const items: Item[] = []
  for (const [n, id] of ids.entries()) {
    try {
      await find(id)
    } catch (error) {
      if (!(error instanceof NotFound || error instanceof PermissionDenied)) throw error
      const message = `wallet_ids[${n}] must be the id of one of your wallets in the environment of the API key, and ${id} is not.`
      items.push({ field: `wallet_ids[${n}]`, code: 'wallet_not_found', message })
    }
  }
  return items
}

function scopeMissing(scope: Guard, what: string): PermissionDenied {
  return new PermissionDenied(
    'event_scope_missing',
    `${what}, and the API key does not have the scope ${scopeOf(scope)}: use a key that has it, or have the webhook send other types, or no data (payload thin).`,
  )
}
