/** An application for tests: all own code is real; keys are in memory and log lines in an array. */
import type { InjectOptions } from 'fastify'
import { v7 } from 'uuid'
import type { QuotaLimits } from '../../src/core/quotas.ts'
import { grantsBefore } from '../../src/core/scopes.ts'
import { CATALOGUE, ID_PREFIXES } from '../../src/declarations.ts'
import { buildApp, type HttpSettings } from '../../src/http/app.ts'
import type { Authenticator, Caller } from '../../src/http/caller.ts'
import { createReadiness } from '../../src/http/health.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import type { App, Routes } from '../../src/http/request.ts'
import type { TenantQuotas } from '../../src/http/tenant-quotas.ts'
import { createLogger } from '../../src/logging.ts'

/** Keys that the test application accepts. */
export const KEYS = {
  /** Every scope of `*` on mainnet. */
  full: 'key-with-every-scope',
  /** Every scope of `*` on mainnet, and exports, which must be named. */
  exporter: 'key-that-exports-keys',
  /** Reads wallets on testnet. */
  reader: 'key-that-reads-on-testnet',
  /** Reads the audit of acme on mainnet, nothing else. */
  auditor: 'key-that-audits-on-mainnet',
  /** Reads the events of acme on mainnet, without their data. */
  listener: 'key-that-listens-on-mainnet',
  /** Manages webhooks of acme on mainnet, and reads events with the data of wallets. */
  webhooks: 'key-that-manages-webhooks',
  /** Every scope of `*` for acme on testnet. */
  testnet: 'key-with-every-scope-on-testnet',
  /** As the first, and those of policies, which must be named. */
  policies: 'key-that-publishes-policies',
  /** In the database, but not in the cache. */
  cold: 'key-that-was-not-used-lately',
} as const

/** Of a key from before what `*` stands for was recorded. */
const EVERY_SCOPE = new Set(grantsBefore(['*']))

const CALLERS: Readonly<Record<string, Omit<Caller, 'allowsAddress' | 'requestLimits' | 'goodUntilMs'>>> = {
  [KEYS.full]: { tenantId: 'acme', keyId: 'key_full', environment: 'mainnet', scopes: EVERY_SCOPE },
  [KEYS.exporter]: {
    tenantId: 'acme',
    keyId: 'key_exporter',
    environment: 'mainnet',
    scopes: new Set([...EVERY_SCOPE, 'recovery:export']),
  },
  [KEYS.reader]: { tenantId: 'acme', keyId: 'key_reader', environment: 'testnet', scopes: new Set(['wallets:read']) },
  [KEYS.auditor]: { tenantId: 'acme', keyId: 'key_auditor', environment: 'mainnet', scopes: new Set(['audit:read']) },
  [KEYS.listener]: {
    tenantId: 'acme',
    keyId: 'key_listener',
    environment: 'mainnet',
    scopes: new Set(['events:read']),
  },
  [KEYS.webhooks]: {
    tenantId: 'acme',
    keyId: 'key_webhooks',
    environment: 'mainnet',
    scopes: new Set(['webhooks:read', 'webhooks:write', 'events:read', 'wallets:read']),
  },
  [KEYS.testnet]: { tenantId: 'acme', keyId: 'key_testnet', environment: 'testnet', scopes: EVERY_SCOPE },
  [KEYS.policies]: {
    tenantId: 'acme',
    keyId: 'key_policies',
    environment: 'mainnet',
    scopes: new Set([...EVERY_SCOPE, 'policies:read', 'policies:write', 'policies:publish']),
  },
  [KEYS.cold]: { tenantId: 'globex', keyId: 'key_cold', environment: 'mainnet', scopes: EVERY_SCOPE },
}

export type TestApp = {
  readonly app: App
  /** The log lines, one object each. */
  readonly logged: () => Record<string, unknown>[]
  /** Tokens that were looked up because they were not cached. */
  readonly lookedUp: readonly string[]
  /** Sends a request with the full key, unless the options have another `authorization`. */
  readonly send: (options: InjectOptions) => Promise<Answer>
}

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>
  readonly text: string
  /** The body, parsed as JSON on access. */
  readonly body: Body
}

/** Loosely typed JSON, for tests. */
export type Body = {
  readonly status: string
  readonly message?: string
  readonly errors?: readonly {
    readonly type: string
    readonly message: string
    readonly field?: string
    readonly code?: string
    readonly details?: Readonly<Record<string, unknown>>
  }[]
  readonly request_id?: string
  readonly data?: Readonly<Record<string, unknown>>
}

export type TestAppOptions = Partial<Omit<Parameters<typeof buildApp>[0], 'settings' | 'routes' | 'logger'>> & {
  readonly routes: Routes
  readonly settings?: Partial<HttpSettings>
}

export async function startTestApp({ routes, settings, ...parts }: TestAppOptions): Promise<TestApp> {
  const lines: string[] = []
  const lookedUp: string[] = []
  const clock = parts.clock ?? Date.now
  const app = await buildApp({
    settings: { ...SETTINGS, ...settings },
    version: '0.0.0-test',
    logger: createLogger({ level: 'info', processName: 'test' }, { write: (line) => void lines.push(line) }),
    authenticator: authenticator(lookedUp),
    readiness: createReadiness([], clock),
    metrics: createMetrics('test', CATALOGUE.metrics),
    countRequest: () => undefined,
    quotas: WITHOUT_QUOTAS,
    catalogue: CATALOGUE,
    newId: (kind) => `${ID_PREFIXES[kind]}_${v7()}`,
    clock,
    timer: () => performance.now(),
    events: [],
    asOfEvent: async () => null,
    ...parts,
    routes: [routes],
  })
  return {
    app,
    lookedUp,
    logged: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    send: async (options) => {
      const response = await app.inject({
        ...options,
        headers: { authorization: `Bearer ${KEYS.full}`, ...options.headers },
      })
      return {
        status: response.statusCode,
        headers: response.headers,
        text: response.payload,
        get body() {
          return response.json<Body>()
        },
      }
    },
  }
}

const NO_LIMITS = Object.fromEntries(Object.keys(CATALOGUE.quotas).map((quota) => [quota, 0])) as QuotaLimits
export const WITHOUT_QUOTAS: TenantQuotas = {
  declared: CATALOGUE.quotas,
  limitsOf: () => NO_LIMITS,
  admit: () => ({ admitted: true, settle: () => undefined }),
  findReplay: async () => null,
  countRefusal: () => undefined,
  clock: Date.now,
}

const SETTINGS: HttpSettings = {
  bodyLimitBytes: 1_048_576,
  rateLimitPerSecond: 0,
  logRequests: false,
  sandbox: false,
  trustedProxies: [],
  serveMetrics: true,
  connections: {
    requestTimeoutMs: 30_000,
    keepAliveTimeoutMs: 72_000,
    max: 4_000,
    maxPerAddress: 1_000,
    maxRequests: 0,
  },
}

function authenticator(lookedUp: string[]): Authenticator {
  return {
    recall: (token) => (token === KEYS.cold ? undefined : (callerOf(token) ?? undefined)),
    verify: async (token) => {
      lookedUp.push(token)
      return callerOf(token)
    },
  }
}

function callerOf(token: string): Caller | null {
  const caller = CALLERS[token]
  const free = { allowsAddress: null, requestLimits: [], goodUntilMs: Number.POSITIVE_INFINITY }
  return caller === undefined ? null : { ...caller, ...free }
}
