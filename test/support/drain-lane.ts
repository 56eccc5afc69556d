/** Signs all that waits in one lane, pass after pass, under the lease of its partition, as an engine does. */

import type { LaneWork } from '../../src/compose/lanes.ts'
import type { Leases } from '../../src/event-log/leases.ts'
import { type Lane, laneName } from '../../src/transactions/lanes.ts'
import { partitionLease, partitionOf } from '../../src/transactions/partitions.ts'

/** @param leaseName by default that of the lane's partition */
export type DrainLane = (lane: Lane, leaseName?: string) => Promise<void>

export function createDrainLane(leases: Leases, pass: LaneWork['pass']): DrainLane {
  return async (lane, leaseName = partitionLease('lane', partitionOf(laneName(lane)) ?? '')) => {
    const lease = await leases.acquire(leaseName)
    if (lease === null) throw new Error(`somebody else has ${leaseName}`)
    try {
      while ((await pass(lane, lease)) === 'again');
    } finally {
      await lease.release({ force: true })
    }
  }
}
