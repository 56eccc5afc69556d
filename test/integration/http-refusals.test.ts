/** Refusals other than bodies: queries, ids, paths, methods, and expected and unexpected errors of the domain. */
import t from 'tap'
import { Conflict, InsufficientFunds, NotFound, PermissionDenied, Unavailable } from '../../src/core/errors.ts'
import type { Routes } from '../../src/http/request.ts'
import { told } from '../support/client.ts'
import { startTestApp } from '../support/http.ts'
import { TRANSFER_PATH, transferRoutes, WALLET } from '../support/http-transfers.ts'
import { matchExactly } from '../support/match-exactly.ts'

const FAILURES: Readonly<Record<string, () => Error>> = {
  conflict: () => new Conflict('wallet_has_balance', 'The wallet has a balance.', { balances: [{ asset: 'ETH' }] }),
  funds: () => new InsufficientFunds({ asset: 'ETH', available: '0.5', needed: '1.500021' }),
  missing: () => new NotFound('wallet'),
  down: () => new Unavailable('database_unavailable', 'The database is not available: try again.'),
  denied: () => new PermissionDenied('environment_mismatch', 'This API key is for testnet.'),
  defect: () => new TypeError('cannot read secrets of undefined'),
}

const routes: Routes = (app) => {
  transferRoutes(app)
  const schema = { operationId: 'fail', summary: 'Fail', description: 'Fails.', tags: ['Test'] }
  const create = { ...schema, operationId: 'create' }
  app.post('/v1/fail/create', { config: { scope: 'wallets:write' }, schema: create }, async () => null)
  app.get('/v1/fail/:how', { config: { scope: 'wallets:read' }, schema }, async (request) => {
    throw FAILURES[(request.params as { how: string }).how]?.() ?? new Error('unknown')
  })
}

const { app, send, logged } = await startTestApp({ routes })
t.teardown(() => app.close())

t.test('query parameters are read from text; unknown and repeated ones are refused', async (t) => {
  const get = (query: string) => send({ method: 'GET', url: `/v1/wallets?${query}` })
  t.equal((await get('limit=2&force=true&status=pending')).status, 200)
  const page = (await get('limit=2')).body.data
  matchExactly(t, page, {
    wallets: [{ wallet_id: 'wal_0' }, { wallet_id: 'wal_1' }],
    has_more: true,
    next_cursor: String,
  })
  t.equal((await get(`cursor=${page?.next_cursor as string}`)).status, 200)
  const { wallets } = (await get('')).body.data ?? {}
  t.equal((wallets as unknown[]).length, 20)
  const cases = [
    ['limit=0', 'limit too_small'],
    ['limit=101', 'limit too_large'],
    ['limit=1.5', 'limit wrong_type'],
    ['limit=ten', 'limit wrong_type'],
    ['limit=1&limit=2', 'limit wrong_type'],
    ['force=maybe', 'force wrong_type'],
    ['stauts=pending', 'stauts unknown_query_parameter'],
    ['status=done', 'status not_allowed'],
    ['cursor=abc', 'cursor invalid_cursor'],
  ]
  for (const [query = '', expected] of cases) {
    const answer = await get(query)
    t.strictSame([answer.status, ...told(answer)], [422, expected], query)
  }
  t.match((await get('stauts=x')).body.message, /did you mean status\?/)
  t.equal((await get('force=maybe')).body.message, 'force must be true or false.')
  t.equal((await get('limit=ten')).body.message, 'limit must be a whole number.')
  t.equal((await get('limit=1&limit=2')).body.message, 'limit must be sent once.')
})

t.test('an impossible id is answered like one that does not exist', async (t) => {
  const real = await send({ method: 'GET', url: '/v1/fail/missing' })
  for (const id of ['wal_1', 'x', '%00', WALLET.toUpperCase(), `${WALLET}0`, '1%20OR%201=1']) {
    const { status, body } = await send({ method: 'GET', url: `/v1/wallets/${id}/notes` })
    t.equal(status, 404)
    t.strictSame(body.errors, real.body.errors, id)
  }
})

t.test(
  'unknown paths get 404, unknown methods on known paths 405 with Allow, and OPTIONS lists the methods',
  async (t) => {
    for (const url of [
      '/',
      '/v1',
      '/v1/nothing',
      '/v1/wallets/',
      '/v2/wallets',
      '//evil.example',
      '/v1/wallets/../keys',
    ]) {
      const answer = await send({ method: 'GET', url })
      t.strictSame([answer.status, ...told(answer)], [404, '- route_not_found'], url)
    }
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
      const answer = await send({ method, url: TRANSFER_PATH })
      t.strictSame(
        [answer.status, answer.headers.allow, ...told(answer)],
        [405, 'OPTIONS, POST', '- method_not_allowed'],
      )
    }
    const get = await send({ method: 'GET', url: '/v1/fail/create' })
    t.strictSame(
      [get.status, get.headers.allow, ...told(get)],
      [405, 'OPTIONS, POST', '- method_not_allowed'],
      'a path beside a template is not one of its ids',
    )
    const options = await send({ method: 'OPTIONS', url: '/v1/wallets' })
    t.strictSame([options.status, options.headers.allow, options.text], [204, 'GET, HEAD, OPTIONS', ''])
    const head = await send({ method: 'HEAD', url: '/v1/wallets' })
    t.strictSame([head.status, head.text], [200, ''])
    for (const url of ['/%', '/v1/wallets/%zz/notes', '/%c3%28'])
      t.equal((await send({ method: 'GET', url })).status, 400, url)
    const long = await send({ method: 'GET', url: `/v1/wallets/${'x'.repeat(300)}/notes` })
    t.equal(long.status, 414)
  },
)

t.test('errors of the domain keep their items; unexpected ones are logged and not shown', async (t) => {
  const fail = (how: string) => send({ method: 'GET', url: `/v1/fail/${how}` })
  matchExactly(t, (await fail('conflict')).body.errors, [
    { type: 'conflict', code: 'wallet_has_balance', details: { balances: [{ asset: 'ETH' }] } },
  ])
  t.equal((await fail('conflict')).status, 409)
  const funds = await fail('funds')
  t.strictSame([funds.status, ...told(funds)], [422, 'amount insufficient_funds'])
  matchExactly(t, funds.body.errors, [{ details: { available: '0.5', needed: '1.500021' } }])
  t.equal((await fail('denied')).status, 403)
  const down = await fail('down')
  t.strictSame([down.status, down.headers['retry-after'], ...told(down)], [503, '1', '- database_unavailable'])
  t.equal(logged().filter(({ message }) => message === 'request failed').length, 0)
  const defect = await fail('defect')
  t.strictSame([defect.status, ...told(defect)], [500, '- internal_error'])
  t.notMatch(defect.text, /secrets|TypeError|at /)
  t.match(logged().at(-1), {
    level: 'error',
    message: 'request failed',
    request_id: defect.body.request_id,
    err: { type: 'TypeError', message: 'cannot read secrets of undefined', stack: /http-refusals/ },
  })
})
