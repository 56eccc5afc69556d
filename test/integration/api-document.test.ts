/**
 * The OpenAPI document of the whole API: its operation ids are stable, every part is described, and it matches the
 * service.
 */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { composeCatalogue } from '../../src/compose/catalogue.ts'
import { documentedEvents } from '../../src/compose/event-docs.ts'
import { ValidationFailed } from '../../src/core/errors.ts'
import { CATALOGUE } from '../../src/declarations.ts'
import { errorCodes } from '../../src/http/error-codes.ts'
import { readItems } from '../../src/nft/tokens/read-items.ts'
import { toTransferRequest } from '../../src/nft/transfers/routes.ts'
import { composeOfflineApi } from '../../src/sandbox/offline-api.ts'
import { API_OPERATIONS, operationsOf } from '../support/api-operations.ts'
import type { Body } from '../support/http.ts'
import { openapiProblems } from '../support/openapi.ts'

type Media = { readonly content?: Readonly<Record<string, { readonly schema: object; readonly example?: object }>> }

type Operation = {
  readonly requestBody?: Media
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: { readonly pattern?: string; readonly maxLength?: number; readonly minLength?: number }
  }[]
  readonly responses: Readonly<Record<string, Media>>
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
  readonly webhooks: Readonly<Record<string, { readonly post: Operation & { readonly security?: readonly object[] } }>>
}

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const COLLECTION = 'col_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const EVENTS = documentedEvents(await composeCatalogue())
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
          `${method} ${url} is refused with 405`,
        )
      }
    }
  },
)

t.test('a path that looks like an id of a resource is not read as one, and is not in the reference', async (t) => {
  for (const url of ['/v1/wallets/create', '/v1/wallets/watch', '/v1/nft/collections/create']) {
    const answer = await app.inject({ method: 'GET', url })
    t.strictSame([answer.statusCode, answer.headers.allow], [405, 'OPTIONS, POST'], url)
  }
})

t.test('a path parameter states its longest value, and one that is longer is refused with 414', async (t) => {
  for (const { path, method, operation } of operations.filter(({ path }) => path.includes('{'))) {
    for (const parameter of (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')) {
      t.ok((parameter.schema.maxLength ?? Number.POSITIVE_INFINITY) <= 256, `${path} limits ${parameter.name}`)
    }
    t.ok(operation.responses['414'], path)
    const url = path.replace(/\{\w+\}/g, 'x'.repeat(257))
    const answer = await app.inject({ method: method as 'GET', url })
    t.equal(answer.statusCode, 414, `${method} ${path} refuses an over-long parameter`)
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

t.test('every body of a request and of a success is a named component', async (t) => {
  let bodies = 0
  for (const { path, method, operation } of operations) {
    for (const media of [operation.requestBody, ...Object.values(operation.responses)]) {
      const schema = media?.content?.['application/json']?.schema
      if (schema === undefined || 'type' in schema === false) continue
      t.fail(`${method} ${path} has an inline body: ${JSON.stringify(schema).slice(0, 100)}`)
    }
    bodies += operation.requestBody === undefined ? 1 : 2
  }
  t.ok(bodies > 57)
})

t.test('the shapes of a mint accept the fields that the service accepts, and no others', async (t) => {
  const collection = { standard: 'ERC1155', collectionType: 'STANDARD' } as const
  const fields = {
    recipient: ADDRESS,
    metadata: { name: 'Lighthouse #1' },
    amount: '2',
    valid_until: '2030-01-31T12:00:00.000Z',
    items: [{ recipient: ADDRESS, metadata: { name: 'Lighthouse #1' } }],
  }
  const fits = validatorOf('MintNftRequest')
  for (const minting_type of [undefined, 'DIRECT', 'BATCH', 'LAZY'] as const) {
    for (const some of subsets(fields)) {
      const { valid_until: validUntil, ...token } = some
      const mintingType = minting_type ?? 'DIRECT'
      const accepted = succeeds(() => readItems({ ...token, mintingType, validUntil }, collection))
      const body = { collection_id: COLLECTION, ...(minting_type === undefined ? {} : { minting_type }), ...some }
      t.equal(fits(body), accepted, JSON.stringify(body))
    }
  }
})

t.test('the shapes of a token transfer accept the fields that the service accepts, and no others', async (t) => {
  const fields = { token_id: '1', to: ADDRESS, amount: '2', items: [{ token_id: '1', to: ADDRESS }] }
  const fits = validatorOf('TransferNftRequest')
  for (const transfer_type of [undefined, 'STANDARD', 'SAFE', 'BATCH'] as const) {
    for (const some of subsets(fields)) {
      const type = transfer_type === undefined ? {} : { transfer_type }
      const body = { collection_id: COLLECTION, from: ADDRESS, ...type, ...some }
      t.equal(
        fits(body),
        succeeds(() => toTransferRequest(body)),
        JSON.stringify(body),
      )
    }
  }
})

t.test(
  'each public event has an entry among the webhooks, whose schema its golden event and its example match',
  (t) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: 'api', components: withoutIds(document.components) })
    ajv.addSchema({ $id: 'strict', components: document.components })
    t.strictSame(
      Object.keys(document.webhooks),
      EVENTS.map(({ type }) => type),
    )
    for (const [type, { post }] of Object.entries(document.webhooks)) {
      t.strictSame(post.security, [], `${type} says that its receiver needs no credential of the API`)
      const { schema, example } = post.requestBody?.content?.['application/json'] ?? {}
      const ref = (schema as { $ref?: string } | undefined)?.$ref ?? ''
      const validate = ajv.getSchema(`api${ref}`)
      const golden = JSON.parse(readFileSync(`test/golden/public-events/${type}.json`, 'utf8'))
      t.ok(validate?.(golden), `${type}: ${ajv.errorsText(validate?.errors)}`)
      const validateIds = ajv.getSchema(`strict${ref}`)
      t.ok(validateIds?.(example), `${type}: ${ajv.errorsText(validateIds?.errors)}`)
      t.equal((example as { readonly type?: string } | undefined)?.type, type)
    }
    t.end()
  },
)

t.test('docs/openapi.json, docs/errors.md and docs/events.md are those that npm run openapi writes', async (t) => {
  const { openapiFile, errorsPage, eventsPage } = (await import('../../scripts/api-pages.mjs')) as {
    openapiFile: (document: object) => string
    errorsPage: (codes: ReturnType<typeof errorCodes>) => string
    eventsPage: (page: string, events: typeof EVENTS) => string
  }
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const ours = { ...document, info: { ...app.swagger().info, version } }
  t.ok(readFileSync('docs/openapi.json', 'utf8') === openapiFile(ours), 'docs/openapi.json: run npm run openapi')
  t.equal(
    readFileSync('docs/errors.md', 'utf8'),
    errorsPage(errorCodes(CATALOGUE)),
    'docs/errors.md: run npm run openapi',
  )
  const page = readFileSync('docs/events.md', 'utf8')
  t.equal(page, eventsPage(page, EVENTS), 'docs/events.md: run npm run openapi')
})

function validatorOf(component: string): (body: object) => boolean {
  const ajv = new Ajv2020({ strict: false, logger: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'document', components: document.components })
  const validate = ajv.compile({ $ref: `document#/components/schemas/${component}` })
  return (body) => validate(body) === true
}

function subsets<Fields extends object>(fields: Fields): Partial<Fields>[] {
  return Object.entries(fields).reduce<Partial<Fields>[]>(
    (sets, [name, value]) => sets.flatMap((set) => [set, { ...set, [name]: value }]),
    [{}],
  )
}

function succeeds(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch (error) {
    if (error instanceof ValidationFailed) return false
    throw error
  }
}

/** The same schemas without patterns: ids of golden events are short. */
function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(
    ([keyword, member]) => keyword !== 'pattern' || typeof member !== 'string',
  )
  return Object.fromEntries(members.map(([keyword, member]) => [keyword, withoutIds(member)]))
}
