/** The API reference matches the service: its document is valid, its examples fit, and it contains every route. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Test } from 'tap'
import { API_OPERATIONS, operationsOf } from '../../support/api-operations.ts'
import type { Client } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, type Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { openapiProblems } from '../../support/openapi.ts'

type Node = { readonly [name: string]: unknown }

export async function checkReference(t: Test, { client, clientOf, tenant }: Sandbox): Promise<void> {
  const { text } = await clientOf().get('/openapi.json')
  const document = JSON.parse(text) as Node
  const paths = document.paths as Readonly<Record<string, Node>>
  await t.test('every operation of the service is in the document with all its parts', async (t) => {
    t.equal(document.openapi, '3.1.0')
    t.strictSame(operationsOf(document), API_OPERATIONS)
    t.strictSame(openapiProblems(document), [])
    for (const [path, item] of Object.entries(paths)) {
      const { headers } = await client.once({ method: 'OPTIONS', path: path.replace(/\{\w+\}/g, 'x') })
      const offered = String(headers.allow)
        .split(', ')
        .filter((method) => !['HEAD', 'OPTIONS'].includes(method))
      t.strictSame(
        offered,
        Object.keys(item)
          .map((verb) => verb.toUpperCase())
          .sort(),
        path,
      )
    }
  })
  await t.test('every schema is valid, and every example is valid by its schema', (t) => examples(t, document))
  await t.test('the service accepts the example requests unchanged', async (t) =>
    requests(t, await tenant('reference'), paths),
  )
  await t.test('the page and its resources are served by this service alone', async (t) => {
    const page = await clientOf().get('/docs/')
    matchExactly(t, [page.status, page.headers['content-security-policy']], [200, "connect-src 'self'"])
    t.notMatch(page.text, /https?:\/\//)
    t.equal((await clientOf().get('/docs/js/scalar.js')).status, 200)
  })
}

async function examples(t: Test, document: Node): Promise<void> {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'document', components: document.components })
  let checked = 0
  for (const [place, schema, example] of pairs(document, '')) {
    const validate = ajv.compile(
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')),
    )
    t.ok(validate(example), `${place} ${JSON.stringify(validate.errors)}`)
    checked += 1
  }
  t.ok(checked > 100, `${checked} examples`)
}

/** Every schema with an example beside it, or examples in it. */
function pairs(part: unknown, place: string): [string, object, unknown][] {
  if (typeof part !== 'object' || part === null) return []
  const node = part as Node
  const own: [string, object, unknown][] = []
  if ('schema' in node && 'example' in node) own.push([place, node.schema as object, node.example])
  if ('type' in node && Array.isArray(node.examples)) {
    for (const example of node.examples) own.push([place, node, example])
  }
  return [...own, ...Object.entries(node).flatMap(([name, inner]) => pairs(inner, `${place}/${name}`))]
}

/** The initial requests of the try-it form. */
async function requests(t: Test, client: Client, paths: Readonly<Record<string, Node>>): Promise<void> {
  for (const path of ['/v1/wallets/create', '/v1/wallets/watch', '/v1/sandbox/faucet', '/v1/nft/collections/create']) {
    const { requestBody } = (paths[path]?.post ?? {}) as {
      requestBody: { content: Readonly<Record<string, { example: object }>> }
    }
    const answer = await client.post(path, requestBody.content['application/json']?.example, AS_LONG_AS_MAY_BE)
    t.equal(answer.status, 201, `${path} ${answer.text}`)
  }
}
