/**
 * Every route with an `Idempotency-Key`, in one table: a refused request leaves its key free; of two concurrent
 * requests one has the effect; the same request again gets the same resource; another request with the key is refused;
 * each tenant has its own keys.
 */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { type Client, type E2eReply, told } from '../../support/e2e-client.ts'
import type { Sandbox } from '../../support/e2e-sandbox.ts'
import { type Call, idempotentCalls, type RouteCase } from '../../support/idempotent-calls.ts'

const WAIT = { prefer: 'wait=60' }
/** Routes that respond immediately, and the faucet, which always waits. */
const NO_PREFERENCE = /\/(watch|assets|faucet|cancel|speed-up|webhooks|rotate-secret|replay|test)$/

export async function checkIdempotentRoutes(t: Test, sandbox: Sandbox): Promise<void> {
  const names = [randomUUID(), randomUUID()]
  const tables: { readonly client: Client; readonly cases: Readonly<Record<string, RouteCase>> }[] = []
  for (const name of names) {
    const client = await sandbox.tenant(name, '*,recovery:export')
    tables.push({ client, cases: await idempotentCalls(sandbox, client) })
  }
  const routes = Object.keys(tables[0]?.cases ?? {})
  t.strictSame(routes.toSorted(), await routesWithKeys(sandbox), 'the table has every route that takes a key')
  for (const route of routes) {
    await t.test(route, async (t) => {
      const key = randomUUID()
      for (const { client, cases } of tables) await checkRoute(t, client, { route, key, of: cases[route] as RouteCase })
      const requests = await sandbox.query(
        `SELECT count(DISTINCT metadata->>'correlationId')::int AS count FROM events
          WHERE metadata->'idempotency'->>'key' LIKE '%' || $1 GROUP BY metadata->'idempotency'->>'key', metadata->>'tenantId'`,
        [key],
      )
      t.strictSame(requests, [{ count: 1 }, { count: 1 }], 'the log has one request for each tenant')
    })
  }
}

async function checkRoute(
  t: Test,
  client: Client,
  { route, key, of }: { readonly route: string; readonly key: string; readonly of: RouteCase },
): Promise<void> {
  const send = ({ path, body }: Call) =>
    client.call(route.split(' ')[0] ?? '', path, { body, headers: { 'idempotency-key': key, ...WAIT } })
  const replayed = ({ headers }: E2eReply) => headers['idempotency-replayed'] === 'true'
  const { good, bad, other, id } = await of(t)

  const refused = await send(bad)
  t.match(String(refused.status), /^4/, refused.text)
  const twins = await Promise.all([send(good), send(good)])
  t.equal(twins.filter(replayed).length, 1, 'one of two simultaneous requests is a replay')
  const again = await send(good)
  t.ok(replayed(again), 'the third request is a replay')
  const made = again.body.data?.[id]
  t.type(made, 'string', again.text)
  for (const { status, body, headers, text } of [...twins, again]) {
    t.match(String(status), /^20[012]$/, text)
    t.equal(body.data?.[id], made, 'every answer names the same resource')
    t.equal(headers['preference-applied'], NO_PREFERENCE.test(route) ? undefined : 'wait=60')
  }
  const reused = await send(other)
  t.strictSame([reused.status, ...told(reused)], [422, '- idempotency_key_reused'], 'another request is refused')
}

/** As in the document: `POST /v1/wallets/create`. */
async function routesWithKeys({ client }: Sandbox): Promise<string[]> {
  const { paths } = JSON.parse((await client.get('/openapi.json')).text) as {
    readonly paths: Readonly<
      Record<string, Readonly<Record<string, { readonly parameters?: readonly { name: string }[] }>>>
    >
  }
  const takesKey = ({ name }: { readonly name: string }) => name.toLowerCase() === 'idempotency-key'
  return Object.entries(paths)
    .flatMap(([path, item]) =>
      Object.entries(item).flatMap(([verb, { parameters = [] }]) =>
        parameters.some(takesKey) ? [`${verb.toUpperCase()} ${path}`] : [],
      ),
    )
    .toSorted()
}
