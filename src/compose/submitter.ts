/** The submitter process: submits signed bytes to the network. */
import { createLaneReads, parseLane } from '../transactions/lanes.ts'
import { createSubmitLane } from '../transactions/submit-lane.ts'
import { handleSending } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import type { Work } from './run-process.ts'

/** Submitting mostly waits for nodes. */
const LANES_AT_ONCE = 16

export async function startSubmitter({ config, pool, log, leases, jobs, logger, chainOf }: Kernel): Promise<Work> {
  const submitLane = createSubmitLane({
    log,
    leases,
    lanes: createLaneReads(pool),
    clientOf: (chainId) => chainOf(chainId).client,
    relayOf: (chainId) => chainOf(chainId).relay,
    rebroadcastAfterMs: config.rebroadcastAfterMs,
    onRefused: ({ transactionId, outcome, message }) =>
      logger.warn({ transaction_id: transactionId, outcome, node_says: message }, 'a node rejected a transaction'),
  })
  const workers = [
    jobs.process('submit', ({ lane }) => submitLane(parseLane(lane ?? '')), { concurrency: LANES_AT_ONCE }),
    ...handleSending(jobs, { pool, log }),
  ]
  return { drain: async () => void (await Promise.all(workers.map((worker) => worker.close()))) }
}
