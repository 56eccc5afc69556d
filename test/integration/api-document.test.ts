/** The OpenAPI document of the whole API: its operation ids are stable, every part is described, and it says what is served. */
import t from 'tap'
import { composeOfflineApi } from '../../src/compose/offline-api.ts'
import { API_OPERATIONS, operationsOf } from '../support/api-operations.ts'
import type { Body } from '../support/http.ts'
import { openapiProblems } from '../support/openapi.ts'

type Operation = {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: { readonly pattern?: string; readonly maxLength?: number; readonly minLength?: number }
  }[]
  readonly responses: Readonly<Record<string, unknown>>
}
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const { app, close } = await composeOfflineApi('0.0.0-test')
t.teardown(close)
const document = app.swagger() as unknown as Document
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

t.test('the operations and their ids are those of the list', async (t) => {
  t.strictSame(operationsOf(document), API_OPERATIONS)
})

t.test('every operation, parameter, field, example and error response is described', async (t) => {
  t.strictSame(openapiProblems(document), [])
})

t.test(
  'an undeclared method on a path of the document is refused with 405, and Allow names the declared ones',
  async (t) => {
    for (const [path, item] of Object.entries(document.paths)) {
      const declared = Object.keys(item).map((method) => method.toUpperCase())
      const allow = [...declared, ...(declared.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ')
      const url = path.replace(/\{\w+\}/g, 'x')
      const options = await app.inject({ method: 'OPTIONS', url })
      t.strictSame([options.statusCode, options.headers.allow], [204, allow], path)
      for (const method of METHODS.filter((other) => !declared.includes(other))) {
        // A path such as /v1/wallets/create can be read as an id: see the next test.
        if (method === 'GET' && path.endsWith('/create')) continue
        if (method === 'GET' && path === '/v1/wallets/watch') continue
        const answer = await app.inject({ method, url })
        const codes = answer.json<Body>().errors?.map(({ code }) => code)
        t.strictSame(
          [answer.statusCode, answer.headers.allow, codes],
          [405, allow, ['method_not_allowed']],
          `${method} ${url}`,
        )
      }
    }
  },
)

t.test('what is read as an id is authenticated like any other id, and not advertised', async (t) => {
  for (const url of ['/v1/wallets/create', '/v1/wallets/watch', '/v1/nft/collections/create']) {
    const answer = await app.inject({ method: 'GET', url })
    t.strictSame([answer.statusCode, answer.headers.allow], [401, undefined], url)
  }
})

t.test('a path parameter states its longest value, and one that is longer is refused with 414', async (t) => {
  for (const { path, method, operation } of operations.filter(({ path }) => path.includes('{'))) {
    for (const parameter of (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')) {
      t.ok((parameter.schema.maxLength ?? Number.POSITIVE_INFINITY) <= 256, `${path} ${parameter.name}`)
    }
    t.ok(operation.responses['414'], path)
    const url = path.replace(/\{\w+\}/g, 'x'.repeat(257))
    const answer = await app.inject({ method: method as 'GET', url })
    t.equal(answer.statusCode, 414, `${method} ${path}`)
  }
})

t.test('the Idempotency-Key header states the limits that are enforced', async (t) => {
  const keys = operations.flatMap(({ operation }) =>
    (operation.parameters ?? []).filter(({ name }) => name === 'Idempotency-Key').map(({ schema }) => schema),
  )
  t.ok(keys.length > 10)
  for (const schema of keys) {
    t.match(schema, { minLength: 1, maxLength: 255 })
    const pattern = new RegExp(String(schema.pattern))
    t.ok(pattern.test('!~'.repeat(127)))
    for (const refused of ['', 'a b', 'é', '\u007f']) t.notOk(pattern.test(refused), encodeURIComponent(refused))
  }
})
