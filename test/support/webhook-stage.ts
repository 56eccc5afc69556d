/** The routes of webhooks over HTTP on a fresh database with wallets. */
import type { Test } from 'tap'
import { composeCatalogue } from '../../src/compose/catalogue.ts'
import { createIdentity, type Identity, openWith } from '../../src/keys/age.ts'
import { deliveryRoutes } from '../../src/webhooks/delivery-routes.ts'
import { deliveredTypes } from '../../src/webhooks/require-terms.ts'
import { webhookRoutes } from '../../src/webhooks/routes.ts'
import { createSigningKeysOf, requireSealing } from '../../src/webhooks/secrets.ts'
import { serve } from './capabilities.ts'
import { type Answer, KEYS } from './http.ts'
import { type WalletParts, withWallets } from './wallet-parts.ts'

export type WebhookCall = (path: string, body?: object, headers?: Readonly<Record<string, string>>) => Promise<Answer>

export type WebhookStage = WalletParts &
  Identity & {
    readonly post: WebhookCall
    readonly patch: WebhookCall
    readonly get: WebhookCall
    readonly remove: WebhookCall
    /** A new webhook. */
    readonly create: (body?: object) => Promise<WebhookData>
  }

/** The parts of a webhook that tests use. */
export type WebhookData = Readonly<Record<string, unknown>> & {
  readonly webhook_id: string
  readonly secret: string
  readonly public_key: string
}

export const HOOK = 'https://example.com/hook'

/** @param settings of the API; by default secrets can be sealed */
export async function withWebhooks(t: Test, settings?: Readonly<Record<string, string>>): Promise<WebhookStage> {
  const key = await createIdentity()
  const parts = await withWallets(t, {}, { WEBHOOK_RECIPIENT: key.recipient, ...settings })
  const { types } = await composeCatalogue()
  const ctx = { ...parts, delivered: deliveredTypes(types) }
  await requireSealing(ctx)
  const { send } = await serve(parts, [], {
    routes(app) {
      webhookRoutes(ctx)(app)
      deliveryRoutes(ctx)(app)
    },
  })
  const call =
    (method: 'POST' | 'PATCH' | 'GET' | 'DELETE'): WebhookCall =>
    (path, payload, headers = {}) =>
      send({ method, url: `/v1/webhooks${path}`, headers, ...(payload === undefined ? {} : { payload }) })
  const post = call('POST')
  return {
    ...parts,
    ...key,
    post,
    patch: call('PATCH'),
    get: call('GET'),
    remove: call('DELETE'),
    async create(body = {}) {
      const answer = await post('', { url: HOOK, ...body })
      if (answer.status !== 201) throw new Error(answer.text)
      return answer.body.data as WebhookData
    },
  }
}

export const as = (key: keyof typeof KEYS) => ({ authorization: `Bearer ${KEYS[key]}` })

/** What a sender signs with. */
export function keysOf({ pool, identity }: WebhookStage, now = Date.now()) {
  return createSigningKeysOf({
    pool,
    clock: () => now,
    async open(sealed) {
      const opened = await openWith([identity], Buffer.from(sealed, 'base64'))
      if (opened.outcome !== 'opened') throw new Error(opened.outcome)
      return opened.plaintext
    },
  })
}
