/** API processes with the database user of the API, without chains or workers: for tests of authentication and of API keys. */
import type { Test } from 'tap'
import { createIssueApiKey, type IssuedApiKey } from '../../src/access/issue-api-key.ts'
import { composeApi } from '../../src/compose/api.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import type { DatabaseRole } from '../../src/core/database-roles.ts'
import type { Environment } from '../../src/core/networks.ts'
import { SCOPES } from '../../src/declarations.ts'
import type { App } from '../../src/http/request.ts'
import { roleUrls } from './database-login.ts'
import type { Body } from './http.ts'
import { type TestDatabase, withDatabase } from './postgres.ts'

/** Every scope by name. */
const ALL_NAMED = ['*', ...SCOPES] as const

export type KeyReply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>
  readonly body: Body
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the resource that it asked for.
  readonly data: any
  /** Of the first error. */
  readonly code: string | undefined
}

export type Sent = {
  /** `POST /v1/api-keys` */
  readonly to: string
  readonly body?: object
  /** An Idempotency-Key. */
  readonly once?: string
  /** Of the connection. */
  readonly from?: string
  readonly forwardedFor?: string
}

export type KeyApi = {
  readonly app: App
  readonly kernel: Kernel
  /** @param token `null` for a request without a key */
  readonly send: (token: string | null, request: Sent) => Promise<KeyReply>
}

export type KeyStage = TestDatabase & {
  /** Of an operator, who owns the tables. */
  readonly kernel: Kernel
  readonly urlAs: (role: DatabaseRole) => string
  /** The settings of API processes, without their database. */
  readonly env: Readonly<Record<string, string>>
  /** A key of an operator. */
  readonly issue: (key?: {
    readonly tenantId?: string
    readonly environment?: Environment
    readonly scopes?: readonly string[]
    readonly expiresAt?: string
  }) => Promise<IssuedApiKey>
  /** Another API process. @param settings `DATABASE_URL`, by default that of the API's user */
  readonly startApi: (settings?: Readonly<Record<string, string>>) => Promise<KeyApi>
}

const SETTINGS = {
  LOG_LEVEL: 'fatal',
  DATABASE_POOL_SIZE: '5',
  RATE_LIMIT_PER_SECOND: '0',
  TRANSACTION_TAG_KEY: Buffer.alloc(32, 3).toString('base64'),
  ETHEREUM_RPC_URLS: 'http://127.0.0.1:1',
  ETHEREUM_CHAIN_ID: '1000001',
}

export async function withKeyStage(t: Test): Promise<KeyStage> {
  const database = await withDatabase(t)
  const urlAs = await roleUrls(t, database.url)
  const kernel = composeKernel(loadConfig({ ...SETTINGS, DATABASE_URL: database.url }), 'test')
  t.after(() => kernel.close())
  const issue = createIssueApiKey(kernel)
  return {
    ...database,
    kernel,
    urlAs,
    env: SETTINGS,
    issue: (key = {}) =>
      issue({ tenantId: 'acme', environment: 'mainnet', scopes: ALL_NAMED, ...key }, { actor: 'operator' }),
    async startApi(settings = {}) {
      const own = composeKernel(loadConfig({ ...SETTINGS, DATABASE_URL: urlAs('api'), ...settings }), 'api')
      const { app } = await composeApi(own, '0.0.0-test')
      t.after(() => app.close().then(own.close))
      return { app, kernel: own, send: (token, request) => send(app, token, request) }
    },
  }
}

async function send(app: App, token: string | null, { to, body, once, from, forwardedFor }: Sent): Promise<KeyReply> {
  const [method, url] = to.split(' ') as ['GET' | 'POST' | 'PATCH' | 'DELETE', string]
  const response = await app.inject({
    method,
    url,
    ...(body === undefined ? {} : { payload: body }),
    ...(from === undefined ? {} : { remoteAddress: from }),
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(once === undefined ? {} : { 'idempotency-key': once }),
      ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
    },
  })
  const parsed = response.json<Body>()
  return {
    status: response.statusCode,
    headers: response.headers,
    body: parsed,
    data: parsed.data,
    code: parsed.errors?.[0]?.code,
  }
}
