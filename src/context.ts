/**
 * What every process has: made once by `compose/kernel.ts`, and handed on as the first argument. A function names what it
 * uses of it: `Pick<Context, 'log' | 'pool'>`, so that a test hands it a small object. Types alone.
 */
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { ChainClient, ChainClients } from './chain/client-set.ts'
import type { Config } from './config.ts'
import type { Clock } from './core/ids.ts'
import type { Catalogue, NewId } from './core/registry.ts'
import type { Leases } from './event-log/leases.ts'
import type { EventLog } from './event-log/log.ts'
import type { WakeUps } from './event-log/wake-ups.ts'
import type { Metrics } from './http/metrics.ts'
import type { Jobs } from './jobs/jobs.ts'

export type Context = {
  readonly config: Config
  /** What capabilities declare. */
  readonly catalogue: Catalogue
  readonly processName: string
  /** Identifies this process among those of its kind: `host:pid`. */
  readonly instance: string
  readonly logger: Logger
  readonly metrics: Metrics
  readonly pool: Pool
  readonly wakeUps: WakeUps
  readonly log: EventLog
  readonly leases: Leases
  readonly chains: ChainClients
  readonly jobs: Jobs
  /** The time of the database, ms. */
  readonly clock: Clock
  readonly newId: NewId
  /** @throws Unavailable when the chain is no longer configured */
  readonly chainOf: (chainId: number) => ChainClient
}
