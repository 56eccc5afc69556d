/**
 * The common parts of every process: the database, the log, the chains, the queues. The only place that composes them.
 */

import { hostname } from 'node:os'
import { LRUCache } from 'lru-cache'
import pg from 'pg'
import type { Logger } from 'pino'
import { createChainClients } from '../chain/client-set.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import { processNamed } from '../core/processes.ts'
import { CATALOGUE, QUEUE_LIMITS } from '../declarations.ts'
import { createDatabaseClock } from '../event-log/database-clock.ts'
import { createLeases } from '../event-log/leases.ts'
import { createEventLog } from '../event-log/log.ts'
import { IDLE_IN_TRANSACTION_MS } from '../event-log/open-transactions.ts'
import { createWakeUps } from '../event-log/wake-ups.ts'
import { createMetrics } from '../http/metrics.ts'
import { createJobs } from '../jobs/create-jobs.ts'
import { createLogger } from '../logging.ts'
import { laneWork } from '../transactions/jobs.ts'
import { countOutcomes } from './count-outcomes.ts'
import { newId } from './new-id.ts'

/** A slower statement is cancelled: the database counts as unavailable, and the caller must be answered. */
const STATEMENT_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 5_000
/** Longer than the pauses between tasks that run together at rest: a new connection costs more than their statements. */
const IDLE_TIMEOUT_MS = 120_000

export type Kernel = Context & { readonly close: () => Promise<void> }

/**
 * @param instance tells it from other processes of its name
 * @throws ConfigError when the process has no database configured
 */
export function composeKernel(config: Config, processName: string, instance = `${hostname()}:${process.pid}`): Kernel {
  const { databaseUrl } = config
  if (databaseUrl === null)
    throw new ConfigError(['DATABASE_URL must be set for this process. To run the sandbox, use npm start'])
  const logger = createLogger({ level: config.logLevel, processName })
  for (const warning of config.warnings) logger.warn({ setting: warning }, 'unknown setting')
  const metrics = createMetrics(processName, CATALOGUE.metrics)
  const pool = createPool(databaseUrl, config, processName, logger)
  const wakeUps = createWakeUps(pool, databaseUrl)
  const databaseClock = createDatabaseClock(pool)
  const clock = databaseClock.now
  const chains = createChainClients({
    chains: config.chains,
    timeoutMs: config.rpcTimeoutMs,
    batch: config.rpcBatch,
    // For cool-downs and ages, never the time of day: setting the clock must not turn a pause of a second into an hour.
    now: () => performance.now(),
    log: logger,
    onExchange: ({ network }, { method, outcome, ms }) =>
      metrics.observeRpc({ network, method, outcome, durationMs: ms }),
  })
  const { recentStreams, verifies = false } = processNamed(processName) ?? {}
  const jobs = createJobs({
    queues: QUEUE_LIMITS,
    databaseUrl,
    redisUrl: config.redisUrl ?? undefined,
    graceMs: config.shutdownGraceMs,
    log: logger,
  })
  return {
    config,
    catalogue: CATALOGUE,
    processName,
    instance,
    logger,
    metrics,
    pool,
    wakeUps,
    chains,
    jobs,
    clock,
    newId,
    log: createEventLog({
      pool,
      wakeUps,
      clock,
      onBatch: metrics.observeAppend,
      onCommit: (decisions) => countOutcomes(metrics, decisions),
      workOf: laneWork,
      onHeld: createReportHeld({ logger, metrics }),
      ...(recentStreams ? { recentStreams } : {}),
      verifies,
    }),
    leases: createLeases({ pool, holder: `${processName}@${instance}`, leaseMs: config.leaseMs }),
    chainOf(chainId) {
      const chain = chains.byChainId(chainId)
      if (chain === undefined)
        throw new Unavailable('network_not_configured', `No RPC URL is configured for chain ${chainId}.`)
      return chain
    },
    async close() {
      databaseClock.close()
      await jobs.close()
      await wakeUps.close()
      chains.close()
      await pool.end()
    },
  }
}

/**
 * Settings that decide what statements and their results mean. A user can set others for its own next sessions (ALTER ROLE):
 * those of the connection come first. The path needs none: no role can make objects that a path could lead to. Whether
 * the database is read-only is not among them: an administrator sets that too.
 */
export const SESSION_OPTIONS = Object.entries({
  bytea_output: 'hex',
  datestyle: 'ISO',
  default_transaction_isolation: 'read\\ committed',
  intervalstyle: 'postgres',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
})
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ')

/** Streams that were reported, so that each is logged once for each reason. */
const MOST_REPORTED = 1_000

/** A stream with an event that cannot be read: nothing is added to it until an operator has examined it. */
function createReportHeld({ logger, metrics }: Pick<Kernel, 'logger' | 'metrics'>) {
  const reported = new LRUCache<string, string>({ max: MOST_REPORTED })
  return (stream: string, reason: string): void => {
    if (reported.get(stream) === reason) return
    reported.set(stream, reason)
    metrics.count('bursar_held_streams_total', {})
    logger.error({ stream, reason }, 'a stream is held; see docs/operations.md, "A bad event"')
  }
}

function createPool(connectionString: string, config: Config, processName: string, logger: Logger): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: config.databasePoolSize,
    application_name: `bursar-${processName}`,
    options: SESSION_OPTIONS,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: 2 * STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  })
  // The next query replaces an idle connection that breaks; without a listener the error would end the process.
  pool.on('error', (error) => logger.warn({ err: error }, 'lost a database connection'))
  // The same for a connection in use: its running statement, or the next one, fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
