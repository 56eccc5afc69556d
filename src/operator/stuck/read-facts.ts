/** Reads all facts for `stuck` at once. A dependency that does not answer is reported, and the rest is read anyway. */

import type { QueueName } from '../../core/registry.ts'
import type { DatabaseFacts } from '../../event-log/database-facts.ts'
import { type FailedJob, queueNames } from '../../jobs/jobs.ts'
import { type ChainNow, readChain } from '../chain-now.ts'
import type { ToldFacts } from '../for-operators.ts'
import { completeLanes, type LaneNow } from '../lanes/lane-now.ts'
import { readLaneRows } from '../lanes/lane-rows.ts'
import { limitsOf } from '../limits.ts'
import { type Down, isDown, type OperatorContext, orDown } from '../operator-context.ts'
import type { Unsound } from './find-unsound.ts'
import { readServiceFacts, type ServiceFacts } from './service-facts.ts'

export type FailedJobs = { readonly queue: QueueName; readonly total: number; readonly newest: readonly FailedJob[] }

export type Facts = {
  readonly database: DatabaseFacts | Down
  readonly chains: readonly ChainNow[]
  readonly service: ServiceFacts | Down
  /** What capabilities told, with their places. */
  readonly told: readonly (ToldFacts & { readonly place: number })[] | Down
  readonly lanes: readonly LaneNow[] | Down
  /** Waiting and not signed, because the records are inconsistent. */
  readonly unsound: readonly Unsound[] | Down
  /** Only queues with failed jobs. */
  readonly failedJobs: readonly FailedJobs[] | Down
}

/** Longest waiting first: if more lanes are stuck, they share a cause. */
const MAX_LANES = 500

export async function readFacts(ctx: OperatorContext): Promise<Facts> {
  const { pool, clock, chains: configured } = ctx
  const before = new Date(clock() - limitsOf(ctx.config).workMs)
  const confirmations = new Map(configured.map(({ settings }) => [settings.chainId, settings.confirmations]))
  const readingChains = Promise.all(configured.map(readChain))
  const [chains, database, service, told, unsound, rows] = await Promise.all([
    readingChains,
    orDown(ctx.readDatabase()),
    orDown(readServiceFacts(ctx, confirmations, before)),
    orDown(Promise.all(ctx.findings.map(async ({ place, read }) => ({ place, ...(await read({ ...ctx, before })) })))),
    orDown(ctx.findUnsound()),
    orDown(readLaneRows(pool, { idle: false, limit: MAX_LANES })),
  ])
  const [lanes, failedJobs] = await Promise.all([
    isDown(rows) ? rows : orDown(completeLanes(ctx, rows, chains)),
    // Queues in an unavailable database are not queried.
    isDown(service) && ctx.queueBackend === 'PostgreSQL' ? [] : orDown(readFailedJobs(ctx)),
  ])
  return { chains, database, service, told, unsound, lanes, failedJobs }
}

async function readFailedJobs({ jobs }: OperatorContext): Promise<FailedJobs[]> {
  const counts = await jobs.counts()
  const names = queueNames(counts).filter((queue) => counts[queue].failed > 0)
  return Promise.all(
    names.map(async (queue) => ({
      queue,
      total: counts[queue].failed,
      newest: await jobs.failed(queue, { limit: 1 }),
    })),
  )
}
