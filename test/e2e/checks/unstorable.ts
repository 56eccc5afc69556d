/**
 * Text that PostgreSQL cannot store, and invalid Unicode, at every place of a request: each path parameter, query
 * parameter, text of a body and header, of every operation in the reference. No response may be 5xx.
 */
import type { Test } from 'tap'
import type { Reply } from '../../support/client.ts'
import { newAddress, type Sandbox, sendTransfer } from '../../support/e2e-sandbox.ts'

type Parameter = { readonly name: string; readonly in: string }
type Operation = {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> }
}
type Reference = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
type Try = {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly headers?: Record<string, string>
}

/** As in a URL: NUL, an unpaired surrogate, bytes that are not UTF-8, an overlong NUL, broken percent-encoding. */
const IN_URLS = ['%00', '%ed%a0%80', '%ff', '%c0%80', '%zz', '%F0%9F%8F%A6']
/** As in a JSON text, in place of a value. */
const IN_BODIES = ['"a\\u0000b"', '"\\udfff\\ud800"', '1e999', '{"\\u0000":1}']
const HEADERS = ['idempotency-key', 'prefer', 'traceparent', 'x-request-id', 'x-forwarded-for', 'if-none-match']
const IN_HEADERS = ['\xff\xfe', '%00']
/** Operations with effects that cost nothing and record the caller, the request and the key. */
const RECORDS_HEADERS = ['/v1/wallets/{wallet_id}', '/v1/wallets/{wallet_id}/sign/message']
/** Tries of a request that is refused because the service is busy. */
const TRIES = 20
/** These report the health of the service, whatever the request. */
const LEFT_OUT = ['/readyz', '/metrics', '/healthz']

export async function checkUnstorable(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('unstorable')
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '1' })
  const transaction = await sendTransfer(client, wallet, { to: newAddress(), amount: '0.1', asset: 'ETH' })
  const ids: Readonly<Record<string, string>> = {
    wallet_id: wallet.walletId,
    transaction_id: transaction.split('/').at(-1) ?? '',
    token_id: '1',
    cid: 'bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am',
  }
  const { paths } = JSON.parse((await client.get('/openapi.json')).text) as Reference
  const tries = Object.entries(paths)
    .filter(([path]) => !LEFT_OUT.includes(path))
    .flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([verb, operation]) => triesOf(verb.toUpperCase(), path, operation, ids)),
    )
  t.ok(tries.length > 1_000, `${tries.length} requests are sent`)
  const failures: string[] = []
  while (tries.length > 0) {
    await Promise.all(
      tries.splice(0, 16).map(async ({ method, path, body, headers }) => {
        const call = () => client.once({ method, path, body, headers: { prefer: 'respond-async', ...headers } })
        let answer: Reply = await call()
        // A node or a database that does not answer in time on a slow machine is no failure of the route.
        for (let tries = 1; answer.status === 503 && tries < TRIES; tries += 1) answer = await call()
        if (answer.status >= 500)
          failures.push(`${method} ${path} ${body ?? ''} ${JSON.stringify(headers)}: ${answer.text}`)
      }),
    )
  }
  t.strictSame(failures, [])
}

function triesOf(method: string, template: string, operation: Operation, ids: Readonly<Record<string, string>>): Try[] {
  const { parameters = [] } = operation
  const example = operation.requestBody?.content['application/json']?.example
  const path = filled(template, ids)
  const whole = example === undefined ? {} : { body: JSON.stringify(example) }
  const inPath = parameters
    .filter((parameter) => parameter.in === 'path')
    .flatMap(({ name }) =>
      IN_URLS.flatMap((text) => shapes(text, ids[name] ?? '')).map((id) => filled(template, { ...ids, [name]: id })),
    )
  const inQuery = parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name }) => IN_URLS.flatMap((text) => shapes(text, 'a')).map((value) => `${path}?${name}=${value}`))
  const inNames = IN_URLS.map((text) => `${path}?${text}=1`)
  const inHeaders =
    method === 'GET' || RECORDS_HEADERS.includes(template)
      ? HEADERS.flatMap((name) => IN_HEADERS.map((text) => ({ method, path, ...whole, headers: { [name]: text } })))
      : []
  return [
    ...[...inPath, ...inQuery, ...inNames].map((unfit) => ({ method, path: unfit, ...whole })),
    ...inHeaders,
    ...(example === undefined ? [] : spoilt(example).map((body) => ({ method, path, body }))),
  ]
}

/** Alone, after a valid value, and inside an event id, which may contain almost anything. */
function shapes(text: string, meant: string): string[] {
  return [text, `${meant}${text}`, `evt_wallet-${text}.1`]
}

/** The path with ids that exist, or could. */
function filled(template: string, ids: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_match, name: string) => ids[name] ?? unknown(name))
}

function unknown(name: string): string {
  const prefixes: Readonly<Record<string, string>> = {
    collection_id: 'col',
    mint_id: 'mint',
    transfer_id: 'nftx',
    signature_id: 'sig',
    export_id: 'exp',
  }
  return `${prefixes[name] ?? 'x'}_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11`
}

/** Copies of the example, each with another value made invalid. */
function spoilt(example: unknown): string[] {
  const mark = '@spoilt@'
  const replaced = (value: unknown): unknown[] => {
    if (typeof value !== 'object' || value === null) return [mark]
    return Object.entries(value).flatMap(([name, part]) =>
      replaced(part).map((spoiltPart) =>
        Array.isArray(value) ? value.with(Number(name), spoiltPart) : { ...value, [name]: spoiltPart },
      ),
    )
  }
  return replaced(example).flatMap((value) => IN_BODIES.map((text) => JSON.stringify(value).replace(`"${mark}"`, text)))
}
