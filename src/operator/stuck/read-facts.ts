/** All that `stuck` judges, read at once. What does not answer is told as such, and everything else is read all the same. */

import { QUEUE_NAMES, type QueueName } from '../../declarations.ts'
import type { FailedJob } from '../../jobs/jobs.ts'
import { type ChainNow, readChain } from '../chain-now.ts'
import { completeLanes, type LaneNow } from '../lanes/lane-now.ts'
import { readLaneRows } from '../lanes/lane-rows.ts'
import { limitsOf } from '../limits.ts'
import { type Down, isDown, type OperatorPorts, orDown } from '../ports.ts'
import type { Unsound } from './find-unsound.ts'
import { readServiceFacts, type ServiceFacts } from './service-facts.ts'

export type FailedJobs = { readonly queue: QueueName; readonly total: number; readonly newest: readonly FailedJob[] }

export type Facts = {
  readonly chains: readonly ChainNow[]
  readonly service: ServiceFacts | Down
  readonly lanes: readonly LaneNow[] | Down
  /** What waits and is not signed, because the database contradicts itself. */
  readonly unsound: readonly Unsound[] | Down
  /** Of queues that have any. */
  readonly failedJobs: readonly FailedJobs[] | Down
}

/** Lanes with the longest waiting first: what is stuck in more of them has one cause. */
const MAX_LANES = 500

export async function readFacts(ports: OperatorPorts): Promise<Facts> {
  const { pool, sources, hasIpfs, clock, chains: configured } = ports
  const { workMs } = limitsOf(ports.settings)
  const confirmations = new Map(configured.map(({ settings }) => [settings.chainId, settings.confirmations]))
  const readingChains = Promise.all(configured.map(readChain))
  const [chains, service, unsound, rows] = await Promise.all([
    readingChains,
    orDown(readServiceFacts({ pool, sources, hasIpfs, confirmations }, new Date(clock() - workMs))),
    orDown(ports.findUnsound()),
    orDown(readLaneRows(pool, { idle: false, limit: MAX_LANES })),
  ])
  const [lanes, failedJobs] = await Promise.all([
    isDown(rows) ? rows : orDown(completeLanes(ports, rows, chains)),
    // Queues in a database that does not answer need not be asked.
    isDown(service) && ports.queueBackend === 'PostgreSQL' ? [] : orDown(readFailedJobs(ports)),
  ])
  return { chains, service, unsound, lanes, failedJobs }
}

async function readFailedJobs({ jobs }: OperatorPorts): Promise<FailedJobs[]> {
  const counts = await jobs.counts()
  const names = QUEUE_NAMES.filter((queue) => counts[queue].failed > 0)
  return Promise.all(
    names.map(async (queue) => ({
      queue,
      total: counts[queue].failed,
      newest: await jobs.failed(queue, { limit: 1 }),
    })),
  )
}
