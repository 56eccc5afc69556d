/** What the chain follower does: it records how far each chain was read, and each reorg. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { chainAggregate } from './aggregate.ts'
import { chainLag, chainStalls } from './gauges.ts'

export const follower: Capability = { aggregates: [anyAggregate(chainAggregate)], gauges: [chainLag, chainStalls] }
