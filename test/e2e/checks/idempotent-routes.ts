/**
 * Every POST of the running service, in one table: a refused request leaves its key free; of 50 concurrent requests one
 * has the effect, also if that is none; the same request again gets the same resource; another request with the key is
 * refused, on this route and on others; each tenant has its own keys.
 */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { SCOPES } from '../../../src/declarations.ts'
import { type Client, type Reply, told } from '../../support/client.ts'
import { newAddress, type Sandbox } from '../../support/e2e-sandbox.ts'
import { idempotentCalls } from '../../support/idempotent-calls.ts'
import type { Call, RouteCalls, RouteCase } from '../../support/route-calls.ts'

const WAIT = { prefer: 'wait=60' }
/** Routes that respond immediately, and the faucet, which always waits. */
const NO_PREFERENCE =
  /\/(shadow|publish|watch|restore|assets|faucet|cancel|speed-up|webhooks|api-keys|rotate|rotate-secret|enable|disable|retry|replay|test)$/
/** They record nothing, or have one effect however often they are sent, and take no key. */
const READS = [
  'POST /v1/api-keys/report',
  'POST /v1/policies/backtest',
  'POST /v1/policies/simulate',
  'POST /v1/wallets/{wallet_id}/swap/quote',
  'POST /v1/wallets/{wallet_id}/transfer/preview',
]
const AT_ONCE = 50

export async function checkIdempotentRoutes(t: Test, sandbox: Sandbox): Promise<void> {
  const names = [randomUUID(), randomUUID()]
  const tables: { readonly client: Client; readonly cases: Readonly<Record<string, RouteCase>> }[] = []
  for (const name of names) {
    const client = await sandbox.tenant(name, ['*', ...SCOPES].join(','))
    tables.push({ client, cases: await idempotentCalls(sandbox, client) })
  }
  const routes = Object.keys(tables[0]?.cases ?? {})
  const { keyed, posts } = await routesOf(sandbox)
  t.strictSame(routes.toSorted(), keyed, 'the table has every route that takes a key')
  t.strictSame(
    posts.filter((route) => !keyed.includes(route)),
    READS,
    'every other POST takes a key',
  )
  for (const route of routes) {
    await t.test(route, async (t) => {
      const key = randomUUID()
      for (const { client, cases } of tables) {
        const calls = await (cases[route] as RouteCase)(t)
        await checkRoute(t, client, { route, key, calls })
        await checkFreshKey(t, client, route, calls)
      }
      const requests = await sandbox.query(
        `SELECT count(DISTINCT metadata->>'correlationId')::int AS count FROM events
          WHERE metadata->'idempotency'->>'key' LIKE '%' || $1 GROUP BY metadata->'idempotency'->>'key', metadata->>'tenantId'`,
        [key],
      )
      t.strictSame(requests, [{ count: 1 }, { count: 1 }], 'the log has one request for each tenant')
    })
  }
}

const replayed = ({ headers }: Reply) => headers['idempotency-replayed'] === 'true'
const REUSED = [422, '- idempotency_key_reused']

function sender(client: Client, route: string, headers: Readonly<Record<string, string>>) {
  return ({ path, body }: Call) => client.once({ method: route.split(' ')[0] ?? '', path, body, headers })
}

async function checkRoute(
  t: Test,
  client: Client,
  { route, key, calls }: { readonly route: string; readonly key: string; readonly calls: RouteCalls },
): Promise<void> {
  const send = sender(client, route, { 'idempotency-key': key, ...WAIT })
  const { good, bad, other, id } = calls

  const refused = await send(bad)
  t.match(String(refused.status), /^4/, refused.text)
  const twins = await Promise.all(Array.from({ length: AT_ONCE }, () => send(good)))
  t.equal(twins.filter(replayed).length, AT_ONCE - 1, 'all but one of the simultaneous requests are replays')
  const again = await send(good)
  t.ok(replayed(again), 'the next request is a replay')
  const made = again.body.data?.[id]
  t.type(made, 'string', again.text)
  const answers = [...twins, again]
  t.strictSame(new Set(answers.map(({ body }) => body.data?.[id])), new Set([made]), 'they name the same resource')
  t.strictSame(
    answers.filter(({ status }) => ![200, 201, 202].includes(status)).map(({ text }) => text),
    [],
  )
  const preferences = new Set(answers.map(({ headers }) => headers['preference-applied']))
  t.strictSame([...preferences], [NO_PREFERENCE.test(route) ? undefined : 'wait=60'])
  const reused = await send(other)
  t.strictSame([reused.status, ...told(reused)], REUSED, 'another request is refused')
  await checkElsewhere(t, client, route, key)
}

/** The same request under a new key is another request, which may find that there is nothing to do. */
async function checkFreshKey(t: Test, client: Client, route: string, { good, other, id }: RouteCalls): Promise<void> {
  const key = randomUUID()
  const send = sender(client, route, { 'idempotency-key': key, prefer: 'respond-async' })
  const twins = await Promise.all(Array.from({ length: AT_ONCE }, () => send(good)))
  const accepted = twins.filter(({ status }) => status < 300)
  if (accepted.length === 0) return
  t.equal(accepted.length, AT_ONCE, 'all are accepted')
  t.equal(twins.filter(replayed).length, AT_ONCE - 1, 'all but one are replays')
  t.equal(new Set(twins.map(({ body }) => body.data?.[id])).size, 1, 'they name the same resource')
  const reused = await send(other)
  t.strictSame([reused.status, ...told(reused)], REUSED, 'another request with the new key is refused')
  await checkElsewhere(t, client, route, key)
}

async function checkElsewhere(t: Test, client: Client, route: string, key: string): Promise<void> {
  // The faucet has the keys of its tenants apart: it pays for all of them.
  if (route.endsWith('/faucet')) return
  const [path, body] = route.endsWith('/wallets/create')
    ? ['/v1/wallets/watch', { network: 'ethereum', address: newAddress() }]
    : ['/v1/wallets/create', { type: 'hd', network: 'ethereum' }]
  const elsewhere = await client.post(path, body, { 'idempotency-key': key })
  t.strictSame([elsewhere.status, ...told(elsewhere)], REUSED, 'the key is refused at another route')
}

/** Named as in the document: `POST /v1/wallets/create`. */
async function routesOf({ client }: Sandbox): Promise<{ readonly keyed: string[]; readonly posts: string[] }> {
  const { paths } = JSON.parse((await client.get('/openapi.json')).text) as {
    readonly paths: Readonly<
      Record<string, Readonly<Record<string, { readonly parameters?: readonly { name: string }[] }>>>
    >
  }
  const takesKey = ({ name }: { readonly name: string }) => name.toLowerCase() === 'idempotency-key'
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, { parameters = [] }]) => ({
      route: `${verb.toUpperCase()} ${path}`,
      isKeyed: parameters.some(takesKey),
    })),
  )
  return {
    keyed: all.flatMap(({ route, isKeyed }) => (isKeyed ? [route] : [])).toSorted(),
    posts: all.flatMap(({ route }) => (route.startsWith('POST ') ? [route] : [])).toSorted(),
  }
}
