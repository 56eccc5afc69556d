/**
 * The configuration of a process: read once from the environment, validated as a whole, passed to the code that needs a
 * part. No other code reads the environment. A bad setting stops the start with one line that names it.
 */
import { join, resolve } from 'node:path'
import type { Static, TObject } from '@sinclair/typebox'
import type { ChainSettings, RpcBatchLimits } from './chain/settings.ts'
import { CHAIN_KEYS, type ChainInput, chainSettings, settingPrefix } from './config/chains.ts'
import { type DatabaseConfig, databaseConfig, databaseProblems } from './config/database.ts'
import type { DeclaredSettings, Schemas } from './config/declare-settings.ts'
import { type HttpConfig, httpConfig, httpProblems, type StreamLimits, streamLimits } from './config/http.ts'
import { readSetting } from './config/read-setting.ts'
import { settingText, variablesOf } from './config/secret-files.ts'
import { type GENERAL_SETTINGS, generalSettings, settingsOfChains } from './config/settings.ts'
import { closest } from './core/closest.ts'
import { ValidationFailed } from './core/errors.ts'
import { isLoopback } from './core/exposure.ts'
import type { LogLevel } from './logging.ts'

export type Environ = Readonly<Record<string, string | undefined>>

/** The members that capabilities declare: each `settings.ts` adds its own (`declare module '../config.ts' { … }`). */
// biome-ignore lint/suspicious/noEmptyInterface: declarations are merged into it.
export interface CapabilityConfig {}

/** Every member has its declaration, and no other does. */
export type DeclaredConfig = {
  readonly [Member in keyof CapabilityConfig]: DeclaredSettings<CapabilityConfig[Member]>
}

export type Config = CapabilityConfig & {
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

/**
 * @param declared by capabilities
 * @throws ConfigError
 */
export function readConfig(env: Environ, declared: DeclaredConfig): Config {
  const problems: string[] = []
  const all: readonly DeclaredSettings[] = Object.values(declared)
  const general = readAll(generalSettings(all), '', env, problems) as General
  const chains = CHAIN_KEYS.flatMap((key) => {
    const input = readAll(settingsOfChains(all), settingPrefix(key), env, problems) as ChainInput
    return chainOrProblem(() => chainSettings(key, input, all), problems)
  })
  const signsFromLog = all.some((each) => each.signsFromLog?.(general as never))
  // A setting that was refused counts as unset from here on. That it must be set is then no second problem.
  const refused = new Set(problems.map(settingOf))
  const contradicting = [
    ...contradictions(general, chains),
    ...all.flatMap((each) => each.problems?.(general as never, chains) ?? []),
    ...httpProblems(general),
    ...databaseProblems(general, signsFromLog),
    ...chainProblems(chains),
  ]
  problems.push(...contradicting.filter((problem) => !refused.has(settingOf(problem))))
  if (problems.length > 0) throw new ConfigError(problems)
  const own = configOf(general, signsFromLog)
  const members = Object.entries<DeclaredSettings>(declared).map(([name, { read }]) => [
    name,
    read(general as never, own),
  ])
  return { ...own, ...(Object.fromEntries(members) as CapabilityConfig), chains, warnings: misspelt(env, all) }
}

/** The setting that a problem names: its first word. */
function settingOf(problem: string): string {
  return problem.slice(0, problem.indexOf(' '))
}

type General = Static<TObject<typeof GENERAL_SETTINGS>>

/** The settings that are set or have defaults; unset ones are absent. Adds a line to `problems` for each bad one. */
function readAll(schemas: Schemas, prefix: string, env: Environ, problems: string[]): object {
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
  return problems
}

function chainProblems(chains: readonly ChainSettings[]): string[] {
  const problems: string[] = []
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

function configOf(
  general: General,
  signsFromLog: boolean,
): Omit<Config, 'chains' | 'warnings' | keyof CapabilityConfig> {
  const sandbox = general.SANDBOX ?? general.DATABASE_URL === undefined
  const dataDir = resolve(general.DATA_DIR)
  return {
    sandbox,
    sandboxHardfork: general.SANDBOX_HARDFORK ?? null,
    dataDir,
    databaseUrl: general.DATABASE_URL ?? null,
    databasePoolSize: general.DATABASE_POOL_SIZE,
    database: databaseConfig(general, signsFromLog),
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
    signWaitMs: general.SIGN_WAIT_MS,
    shutdownGraceMs: general.SHUTDOWN_GRACE_MS,
    keystore: {
      kind: general.KEYSTORE,
      directory: resolve(general.KEYSTORE_DIR ?? join(dataDir, 'keystore')),
      key: general.KEYSTORE_KEY ?? null,
    },
    tagKeys: general.TRANSACTION_TAG_KEY?.map((key) => Buffer.from(key, 'base64')) ?? [],
    rpcTimeoutMs: general.RPC_TIMEOUT_MS,
    rpcBatch: { maxCalls: general.RPC_BATCH_MAX_CALLS, maxBytes: general.RPC_BATCH_MAX_BYTES },
    maxInFlightPerLane: general.MAX_IN_FLIGHT_PER_LANE,
    replaceAfterMs: general.REPLACE_AFTER_MS,
    rebroadcastAfterMs: general.REBROADCAST_AFTER_MS,
    sweepIntervalMs: general.SWEEP_INTERVAL_MS,
    reconcileIntervalMs: general.RECONCILE_INTERVAL_MS,
    leaseMs: general.LEASE_MS,
  }
}

/** Shorter names are too similar to variables of other programs to count as misspellings. */
const SHORTEST_COMPARED = 8

/** A misspelt setting would silently leave its default in force, so it is reported with the likely intended name. */
function misspelt(env: Environ, declared: readonly DeclaredSettings[]): string[] {
  const known = new Set([
    ...Object.entries(generalSettings(declared)).flatMap(([name, schema]) => variablesOf(name, schema)),
    ...CHAIN_KEYS.flatMap((key) =>
      Object.entries(settingsOfChains(declared)).flatMap(([name, schema]) =>
        variablesOf(`${settingPrefix(key)}${name}`, schema),
      ),
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
