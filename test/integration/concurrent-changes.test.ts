/**
 * Two changes of one resource at the same time: each that is accepted holds afterwards. Every PATCH route of the API has
 * an entry here, and every field of its body.
 */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { composeOfflineApi } from '../../src/sandbox/offline-api.ts'
import { mine } from '../support/calls.ts'
import { told } from '../support/client.ts'
import { type Answer, KEYS } from '../support/http.ts'
import { withKeyStage } from '../support/key-stage.ts'
import { ASYNC, type Data, withNftApi } from '../support/nft-api.ts'
import { dataOf, WATCH, withWalletApi } from '../support/wallet-api.ts'
import { makeWallet } from '../support/wallet-parts.ts'
import { withWebhooks } from '../support/webhook-stage.ts'

/** Rounds for each pair of fields. */
const ROUNDS = 5

/** A resource that is changed. */
type Patched = {
  readonly patch: (body: object) => Promise<Answer>
  readonly read: () => Promise<Data>
}

type Field = {
  /** The value to send in a round: another one than in the round before. */
  readonly value: (round: number) => unknown
  /** Whether the resource shows it; by default, whether its field has this value. */
  readonly holds?: (data: Data, value: unknown) => boolean
}

type Route = {
  /** Each field of the body; those of an object are named with a dot. */
  readonly fields: Readonly<Record<string, Field>>
  /** How a change may be refused because of the other one, as `field code`; by default none may. */
  readonly refusals?: readonly string[]
  /** The resource that is changed in a round. */
  readonly resource: (round: number) => Promise<Patched>
}

const flag = (round: number) => round % 2 === 1

const ROUTES: Readonly<Record<string, (t: Test) => Promise<Route>>> = {
  async '/v1/wallets/{wallet_id}'(t) {
    const { post, patch, get } = await withWalletApi(t)
    const url = `/v1/wallets/${dataOf(await post('/v1/wallets/watch', WATCH)).wallet_id}`
    const headers = { authorization: `Bearer ${KEYS.policies}` }
    const resource = { patch: (body: object) => patch(url, body, headers), read: async () => dataOf(await get(url)) }
    return {
      resource: async () => resource,
      fields: {
        label: { value: (round) => `label ${round}` },
        tags: { value: (round) => [`tag ${round}`] },
        'notifications.large_transfers': { value: flag },
        'notifications.incoming_transactions': { value: flag },
        'notifications.large_transfer_threshold_usd': { value: (round) => String(round + 1) },
      },
    }
  },

  async '/v1/webhooks/{webhook_id}'(t) {
    const stage = await withWebhooks(t)
    const wallets = [await makeWallet(stage), await makeWallet(stage)]
    const path = `/${(await stage.create()).webhook_id}`
    const resource = {
      patch: (body: object) => stage.patch(path, body),
      read: async () => (await stage.get(path)).body.data as Data,
    }
    return {
      resource: async () => resource,
      fields: {
        url: { value: (round) => `https://example.com/${round}` },
        description: { value: (round) => `description ${round}` },
        types: { value: (round) => [flag(round) ? 'wallet.created' : 'transaction.confirmed'] },
        wallet_ids: { value: (round) => [wallets[round % 2]] },
        payload: { value: (round) => (flag(round) ? 'thin' : 'full') },
      },
    }
  },

  async '/v1/api-keys/{key_id}'(t) {
    const { issue, startApi } = await withKeyStage(t)
    const { send } = await startApi()
    const { token } = await issue()
    const body = { label: 'changed', scopes: ['wallets:read', 'wallets:write', 'events:read'] }
    return {
      fields: {
        label: { value: (round) => `label ${round}` },
        scopes: { value: (round) => [flag(round) ? 'wallets:read' : 'events:read'] },
        expires_at: { value: (round) => `2999-01-01T00:00:00.${String(round).padStart(3, '0')}Z` },
        ip_allowlist: { value: (round) => [flag(round) ? '127.0.0.0/8' : '127.0.0.1/32'] },
        limits: {
          value: (round) => [{ transactions: round, window_seconds: 3_600 }],
          holds: ({ limits }, value) =>
            isDeepStrictEqual(
              (limits as Data[]).map(({ transactions, window_seconds }) => ({ transactions, window_seconds })),
              value,
            ),
        },
        force: { value: () => true, holds: () => true },
      },
      // Scopes can only be taken away.
      async resource() {
        const url = `/v1/api-keys/${(await send(token, { to: 'POST /v1/api-keys', body })).data.key_id}`
        return {
          async patch(changes) {
            const reply = await send(token, { to: `PATCH ${url}`, body: changes })
            return { ...reply, text: JSON.stringify(reply.body) }
          },
          read: async () => (await send(token, { to: `GET ${url}` })).data,
        }
      },
    }
  },

  async '/v1/nft/collections/{collection_id}/tokens/{token_id}/metadata'(t) {
    const { calls, collection, mint, send, get } = await withNftApi(t)
    const { collection_id } = await collection({ collection_type: 'DYNAMIC' })
    return {
      refusals: ['- metadata_frozen'],
      fields: {
        metadata: {
          value: (round) => ({ name: `Changed in round ${round}` }),
          holds: ({ pending_metadata_uri }) => pending_metadata_uri !== null,
        },
        freeze: { value: () => true, holds: (data) => (data.last_update as Data | null)?.type === 'FREEZE' },
      },
      async resource(round) {
        const { transaction_id, token_id } = (await mint(collection_id)).body.data ?? {}
        await mine(calls, String(transaction_id), round)
        const url = `/v1/nft/collections/${collection_id}/tokens/${token_id}`
        return {
          patch: (payload) => send({ method: 'PATCH', url: `${url}/metadata`, payload, headers: ASYNC }),
          read: async () => (await get(url)).body.data as Data,
        }
      },
    }
  },
}

type Schema = {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
}
type Document = {
  readonly paths: Readonly<
    Record<
      string,
      { readonly patch?: { readonly requestBody: { readonly content: Record<string, { schema: Schema }> } } }
    >
  >
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const { app, close } = await composeOfflineApi('0.0.0-test')
t.teardown(close)
const document = app.swagger() as unknown as Document
const bodies = Object.entries(document.paths).flatMap(([path, { patch }]) => {
  const schema = patch?.requestBody.content['application/json']?.schema
  return schema === undefined ? [] : [[path, schema] as const]
})

/** The names of the fields of a body, of which those in `whole` are not taken apart. */
function fieldsOf(schema: Schema, whole: readonly string[], prefix = ''): string[] {
  const named = schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1) ?? '']
  const fields = Object.entries(named?.properties ?? {})
  if (fields.length === 0) return [prefix]
  return fields.flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    return whole.includes(path) ? [path] : fieldsOf(field, whole, path)
  })
}

function bodyOf(field: string, value: unknown): object {
  const [name = '', inner] = field.split('.')
  return { [name]: inner === undefined ? value : { [inner]: value } }
}

function shown(data: Data, field: string): unknown {
  return field.split('.').reduce<unknown>((part, name) => (part as Data | null)?.[name], data)
}

t.test('every PATCH route is tested here, with every field of its body', async (t) => {
  t.strictSame(
    bodies.map(([path]) => path).sort(),
    Object.keys(ROUTES).sort(),
    'a new PATCH route needs an entry in ROUTES',
  )
})

for (const [path, schema] of bodies) {
  t.test(`two changes at once by PATCH ${path} both hold afterwards`, async (t) => {
    const route = await ROUTES[path]?.(t)
    if (route === undefined) return
    const { fields, refusals = [], resource } = route
    const names = Object.keys(fields)
    t.strictSame(fieldsOf(schema, names).sort(), names.toSorted(), 'each field of the body has values')
    const pairs = names.flatMap((one, n) => names.slice(n + 1).map((other) => [one, other] as const))
    let round = 0
    for (const pair of Array.from({ length: ROUNDS }, () => pairs).flat()) {
      const { patch, read } = await resource(round)
      const changes = pair.map((name) => ({ name, field: fields[name], value: fields[name]?.value(round) }))
      const answers = await Promise.all(changes.map(({ name, value }) => patch(bodyOf(name, value))))
      const data = await read()
      for (const [n, { name, field, value }] of changes.entries()) {
        const answer = answers[n] as Answer
        if (answer.status >= 400) {
          t.ok(refusals.includes(told(answer).join()), `${name} in round ${round}: ${answer.text}`)
        } else if (field?.holds === undefined) t.strictSame(shown(data, name), value, `${name} in round ${round}`)
        else t.ok(field.holds(data, value), `${name} in round ${round}`)
      }
      round += 1
    }
  })
}
