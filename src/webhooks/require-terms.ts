/**
 * Checks what the owner of a webhook chooses. A webhook sends without an API key, so that whoever creates or changes one
 * must be allowed to read what it sends.
 */
import { closest } from '../core/closest.ts'
import { type ErrorItem, NotFound, PermissionDenied, ValidationFailed } from '../core/errors.ts'
import { ALL_SCOPES, allows } from '../core/scopes.ts'
import type { Owner } from '../core/tenants.ts'
import type { FindWallet } from '../wallets/find-wallet.ts'
import type { SignatureVersion, WebhookTerms } from './events.ts'
import { requireReceiverUrl, type UrlRules } from './receiver-url.ts'

/** A type of public events, with the scope that its data needs. */
export type DeliveredType = { readonly type: string; readonly scope: string }

/** Who creates or changes a webhook. */
export type Reader = Owner & { readonly scopes: ReadonlySet<string> }

/**
 * The terms, with the URL in its normal form.
 *
 * @throws ValidationFailed for the URL, `unknown_event_type`, `wallet_not_found`; PermissionDenied `event_scope_missing`
 */
export type RequireTerms = (terms: WebhookTerms, reader: Reader) => Promise<WebhookTerms>

export function createRequireTerms({
  urlRules,
  types: known,
  findWallet,
}: {
  readonly urlRules: UrlRules
  /** Every type of public events. */
  readonly types: readonly DeliveredType[]
  readonly findWallet: FindWallet
}): RequireTerms {
  return async (terms, reader) => {
    const url = requireReceiverUrl(terms.url, urlRules)
    const unknown = [
      ...unknownTypes(
        terms.types ?? [],
        known.map(({ type }) => type),
      ),
      ...(await unknownWallets(terms.walletIds ?? [], (id) => findWallet(reader, id))),
    ]
    if (unknown.length > 0) throw new ValidationFailed(unknown)
    requireReadable(terms, reader, known)
    return { ...terms, url }
  }
}

/** @throws ValidationFailed `invalid_signatures` without `v1`, which libraries of Standard Webhooks need */
export function requireSignatures(signatures: readonly SignatureVersion[]): void {
  if (signatures.includes('v1')) return
  const message = 'signatures must contain v1: every delivery has it, and v1a beside it where you name both.'
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
    const hint = meant === undefined ? 'see docs/events.md for all types' : `did you mean ${meant}?`
    const message = `types[${n}] must be a type of events: ${JSON.stringify(type)} is none, ${hint}`
    return [{ field: `types[${n}]`, code: 'unknown_event_type', message }]
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
      const message = `wallet_ids[${n}] must be the id of one of your wallets in the environment of the API key: ${id} is none.`
      items.push({ field: `wallet_ids[${n}]`, code: 'wallet_not_found', message })
    }
  }
  return items
}

function requireReadable({ types, payload }: WebhookTerms, { scopes }: Reader, known: readonly DeliveredType[]): void {
  if (!allows(scopes, 'events:read')) throw scopeMissing('events:read', 'A webhook sends events')
  if (payload === 'thin') return
  const chosen = known.filter(({ type }) => types === null || types.includes(type))
  const hidden = chosen.find(({ scope }) => (scope === ALL_SCOPES ? !scopes.has(scope) : !allows(scopes, scope)))
  if (hidden !== undefined) throw scopeMissing(hidden.scope, `The webhook would send the data of ${hidden.type}`)
}

function scopeMissing(scope: string, what: string): PermissionDenied {
  return new PermissionDenied(
    'event_scope_missing',
    `${what}, and the API key does not have the scope ${scope}: use a key that has it, choose other types, or set payload to thin.`,
  )
}
