/**
 * The configuration of a process: read once from the environment, validated as a whole, passed to the code that needs a
 * part. No other code reads the environment. A bad setting stops the start with one line that names it.
 */
import { join, resolve } from 'node:path'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { ChainSettings, RpcBatchLimits } from './chain/settings.ts'
import { type AuditConfig, auditConfig } from './config/audit.ts'
import { CHAIN_KEYS, type ChainInput, chainSettings, settingPrefix } from './config/chains.ts'
import { type DatabaseConfig, databaseConfig, databaseProblems } from './config/database.ts'
import { type HttpConfig, httpConfig, httpProblems, type StreamLimits, streamLimits } from './config/http.ts'
import { type MpcConfig, mpcConfig, mpcProblems } from './config/mpc.ts'
import { quotaConfig } from './config/quotas.ts'
import { readSetting, ruleOf } from './config/read-setting.ts'
import { settingText, variablesOf } from './config/secret-files.ts'
import { CHAIN_SETTINGS, GENERAL_SETTINGS } from './config/settings.ts'
import { type SourceConfig, sourceConfig, sourceProblems } from './config/swap-source.ts'
import { type WebhookConfig, webhookConfig, webhookProblems } from './config/webhooks.ts'
import { closest } from './core/closest.ts'
import { ValidationFailed } from './core/errors.ts'
import { isLoopback } from './core/exposure.ts'
import type { LimitsOf } from './core/quotas.ts'
import type { LogLevel } from './logging.ts'

export type Environ = Readonly<Record<string, string | undefined>>

export type Config = {
  /** True when the sandbox runs local chains: responses say so, and the faucet exists. */
  readonly sandbox: boolean
  /** The rules of the sandbox's chains. Null: the newest that its nodes have. */
  readonly sandboxHardfork: string | null
  readonly dataDir: string
  /** Null when the sandbox runs its own database. */
  readonly databaseUrl: string | null
  readonly databasePoolSize: number
  readonly database: DatabaseConfig
  /** Null for queues in PostgreSQL. */
  readonly redisUrl: string | null
  readonly api: { readonly host: string; readonly port: number }
  readonly metricsPort: number | null
  readonly logLevel: LogLevel
  readonly http: HttpConfig & {
    readonly logRequests: boolean
    readonly sandbox: boolean
    /** False when `/metrics` has its own port, and when others than this machine reach the API without a setting for it. */
    readonly serveMetrics: boolean
  }
  readonly eventStreams: StreamLimits
  /** The quotas of each tenant. */
  readonly quotasOf: LimitsOf
  readonly signWaitMs: number
  readonly shutdownGraceMs: number
  /** `key` is base64; null when the key is kept in the directory. Only signers use it. */
  readonly keystore: {
    readonly kind: 'directory' | 'postgres'
    readonly directory: string
    readonly key: string | null
  }
  /** Keys of tags, the newest first: of signers and mpc parties, which need one. */
  readonly tagKeys: readonly Uint8Array[]
  /** Null when there are no mpc wallets. */
  readonly mpc: MpcConfig | null
  readonly audit: AuditConfig
  /** Age recipients that keys may be exported to. Empty: none. Null: any, only in the sandbox. */
  readonly exportRecipients: readonly string[] | null
  /** Whether typed data that lets somebody else spend is signed, as the operator says; `null`: as policies say, see `signatures`. */
  readonly spendingTypedData: 'refuse' | 'allow' | null
  /** The configured chains. */
  readonly chains: readonly ChainSettings[]
  readonly rpcTimeoutMs: number
  readonly rpcBatch: RpcBatchLimits
  readonly maxInFlightPerLane: number
  readonly replaceAfterMs: number
  readonly rebroadcastAfterMs: number
  readonly sweepIntervalMs: number
  readonly reconcileIntervalMs: number
  readonly leaseMs: number
  readonly swap: { readonly quoteTtlMs: number; readonly maxSlippageBps: number; readonly requireFeeds: boolean }
  /** Where hosted quotes come from; null for none. */
  readonly swapSource: SourceConfig | null
  readonly webhooks: WebhookConfig
  /** Null when only Bursar serves metadata. `authorization` is the value of the header. */
  readonly ipfs: { readonly url: string; readonly authorization: string | null } | null
  /** Ends with `/`. Null for `ipfs://`. */
  readonly metadataBaseUrl: string | null
  /** One line for each name in the environment that looks like a misspelt setting; to be logged. */
  readonly warnings: readonly string[]
}

/** Invalid settings. The message has one line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** @throws ConfigError */
export function loadConfig(env: Environ): Config {
  const problems: string[] = []
  const general = readAll(GENERAL_SETTINGS, '', env, problems) as General
  const chains = CHAIN_KEYS.flatMap((key) => {
    const input = readAll(CHAIN_SETTINGS, settingPrefix(key), env, problems) as ChainInput
    return chainOrProblem(() => chainSettings(key, input), problems)
  })
  // A setting that was refused counts as unset from here on. That it must be set is then no second problem.
  const refused = new Set(problems.map(settingOf))
  problems.push(...contradictions(general, chains).filter((problem) => !refused.has(settingOf(problem))))
  if (problems.length > 0) throw new ConfigError(problems)
  return { ...configOf(general), chains, warnings: misspelt(env) }
}

/** The setting that a problem names: its first word. */
function settingOf(problem: string): string {
  return problem.slice(0, problem.indexOf(' '))
}

type General = Static<TObject<typeof GENERAL_SETTINGS>>

/** The settings that are set or have defaults; unset ones are absent. Adds a line to `problems` for each bad one. */
function readAll(schemas: Readonly<Record<string, TSchema>>, prefix: string, env: Environ, problems: string[]): object {
  const values: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(schemas)) {
    const given = settingText(`${prefix}${name}`, schema, env)
    const reading = 'problem' in given ? given : readSetting(`${prefix}${name}`, schema, given.text)
    if ('problem' in reading) problems.push(reading.problem)
    else if (reading.value !== undefined) values[name] = reading.value
  }
  return values
}

function chainOrProblem(build: () => ChainSettings | null, problems: string[]): ChainSettings[] {
  try {
    return [build() ?? []].flat()
  } catch (error) {
    if (!(error instanceof ValidationFailed)) throw error
    problems.push(error.message)
    return []
  }
}

/** Settings that are valid alone but contradict each other. */
function contradictions(general: General, chains: readonly ChainSettings[]): string[] {
  const problems: string[] = []
  const [first] = chains
  if (first !== undefined && general.DATABASE_URL === undefined && general.SANDBOX !== true) {
    problems.push(
      `DATABASE_URL must be set if ${settingPrefix(first)}RPC_URLS is set: the sandbox only uses local chains`,
    )
  }
  if (general.KEYSTORE === 'postgres' && general.KEYSTORE_KEY === undefined) {
    problems.push('KEYSTORE_KEY must be set if KEYSTORE is postgres: every signer needs the same key')
  }
  problems.push(...mpcProblems(general), ...httpProblems(general), ...sourceProblems(general, chains))
  problems.push(...webhookProblems(general), ...databaseProblems(general, general.MPC_PARTY !== undefined))
  for (const name of ['IPFS_API_URL', 'METADATA_BASE_URL'] as const) {
    const url = general[name]
    if (url !== undefined && !URL.canParse(url)) problems.push(`${name} ${ruleOf(GENERAL_SETTINGS[name])}`)
  }
  if (general.IPFS_API_AUTHORIZATION !== undefined && general.IPFS_API_URL === undefined) {
    problems.push('IPFS_API_URL must be set if IPFS_API_AUTHORIZATION is set')
  }
  const twice = chains.find((chain, index) => chains.findIndex(({ chainId }) => chainId === chain.chainId) < index)
  if (twice !== undefined) {
    problems.push(`${settingPrefix(twice)}CHAIN_ID must differ from that of every other chain, not ${twice.chainId}`)
  }
  for (const chain of chains) {
    const tip = `${settingPrefix(chain)}MIN_TIP_WEI`
    if (chain.minTipWei > chain.maxFeePerGasWei)
      problems.push(`${tip} must be at most MAX_FEE_PER_GAS_WEI, not ${chain.minTipWei}`)
    if (chain.minTipWei > chain.maxTipWei) problems.push(`${tip} must be at most MAX_TIP_WEI, not ${chain.minTipWei}`)
  }
  return problems
}

function configOf(general: General): Omit<Config, 'chains' | 'warnings'> {
  const sandbox = general.SANDBOX ?? general.DATABASE_URL === undefined
  const dataDir = resolve(general.DATA_DIR)
  return {
    sandbox,
    sandboxHardfork: general.SANDBOX_HARDFORK ?? null,
    dataDir,
    databaseUrl: general.DATABASE_URL ?? null,
    databasePoolSize: general.DATABASE_POOL_SIZE,
    database: databaseConfig(general, general.MPC_PARTY !== undefined),
    redisUrl: general.REDIS_URL ?? null,
    api: { host: general.HOST, port: general.PORT },
    metricsPort: general.METRICS_PORT ?? null,
    logLevel: general.LOG_LEVEL,
    http: {
      ...httpConfig(general),
      logRequests: general.LOG_REQUESTS,
      sandbox,
      serveMetrics: general.METRICS_PORT === undefined && (general.METRICS_ON_API_PORT || isLoopback(general.HOST)),
    },
    eventStreams: streamLimits(general),
    quotasOf: quotaConfig(general),
    signWaitMs: general.SIGN_WAIT_MS,
    shutdownGraceMs: general.SHUTDOWN_GRACE_MS,
    keystore: {
      kind: general.KEYSTORE,
      directory: resolve(general.KEYSTORE_DIR ?? join(dataDir, 'keystore')),
      key: general.KEYSTORE_KEY ?? null,
    },
    tagKeys: general.TRANSACTION_TAG_KEY?.map((key) => Buffer.from(key, 'base64')) ?? [],
    mpc: mpcConfig(general, dataDir),
    audit: auditConfig(general, dataDir),
    // A writer of requests must not choose who receives the key: outside the sandbox, unset means no recipient.
    exportRecipients: general.EXPORT_RECIPIENTS ?? (sandbox ? null : []),
    spendingTypedData: general.SIGN_SPENDING_TYPED_DATA ?? null,
    rpcTimeoutMs: general.RPC_TIMEOUT_MS,
    rpcBatch: { maxCalls: general.RPC_BATCH_MAX_CALLS, maxBytes: general.RPC_BATCH_MAX_BYTES },
    maxInFlightPerLane: general.MAX_IN_FLIGHT_PER_LANE,
    replaceAfterMs: general.REPLACE_AFTER_MS,
    rebroadcastAfterMs: general.REBROADCAST_AFTER_MS,
    sweepIntervalMs: general.SWEEP_INTERVAL_MS,
    reconcileIntervalMs: general.RECONCILE_INTERVAL_MS,
    leaseMs: general.LEASE_MS,
    swap: {
      quoteTtlMs: general.SWAP_QUOTE_TTL_MS,
      maxSlippageBps: general.SWAP_MAX_SLIPPAGE_BPS,
      requireFeeds: general.SWAP_REQUIRE_FEEDS,
    },
    swapSource: sourceConfig(general),
    webhooks: webhookConfig(general),
    ipfs:
      general.IPFS_API_URL === undefined
        ? null
        : { url: general.IPFS_API_URL, authorization: general.IPFS_API_AUTHORIZATION ?? null },
    metadataBaseUrl: general.METADATA_BASE_URL ?? null,
  }
}

/** Shorter names are too similar to variables of other programs to count as misspellings. */
const SHORTEST_COMPARED = 8

/** A misspelt setting would silently leave its default in force, so it is reported with the likely intended name. */
function misspelt(env: Environ): string[] {
  const known = new Set([
    ...Object.entries(GENERAL_SETTINGS).flatMap(([name, schema]) => variablesOf(name, schema)),
    ...CHAIN_KEYS.flatMap((key) =>
      Object.entries(CHAIN_SETTINGS).flatMap(([name, schema]) => variablesOf(`${settingPrefix(key)}${name}`, schema)),
    ),
  ])
  const prefixes = CHAIN_KEYS.map(settingPrefix)
  return Object.keys(env).flatMap((name) => {
    if (known.has(name)) return []
    const ours = prefixes.some((prefix) => name.startsWith(prefix))
    const meant = ours || name.length >= SHORTEST_COMPARED ? closest(name, known) : undefined
    if (meant !== undefined) return [`${name} is not a known setting: did you mean ${meant}?`]
    return ours ? [`${name} is not a known setting`] : []
  })
}
