/** Signs all that waits in one lane, pass after pass, under the lease of its partition, as an engine does. */
import type { Leases } from '../../src/event-log/leases.ts'
import { type Lane, laneName } from '../../src/transactions/lanes.ts'
import { partitionLease, partitionOf } from '../../src/transactions/partitions.ts'
import type { SignLane } from '../../src/transactions/sign-lane.ts'

export type DrainLane = (lane: Lane) => Promise<void>

export function createDrainLane(leases: Leases, pass: SignLane): DrainLane {
  return async (lane) => {
    const name = partitionLease('lane', partitionOf(laneName(lane)) ?? '')
    const lease = await leases.acquire(name)
    if (lease === null) throw new Error(`somebody else has ${name}`)
    try {
      while ((await pass(lane, lease)) === 'again');
    } finally {
      await lease.release({ force: true })
    }
  }
}
