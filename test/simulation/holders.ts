/** Law: what is signed, or said to be sent, is recorded by the process that has the partition of its lane. */
import type { Commit } from '../../src/event-log/append.ts'
import { laneName } from '../../src/transactions/lanes.ts'
import { type LaneQueue, partitionLease, partitionOf } from '../../src/transactions/partitions.ts'
import type { TransactionState } from '../../src/transactions/state.ts'
import type { World } from './terms.ts'

const QUEUES: Readonly<Record<string, LaneQueue>> = {
  TransactionSigned: 'lane',
  TransactionReplaced: 'lane',
  TransactionSubmitted: 'submit',
  TransactionAwaitingFunds: 'submit',
}

/** After every append. */
export function checkHolders({ store, broken }: World, { decisions, guards }: Commit): void {
  for (const { events, after } of decisions) {
    const state = after.state as TransactionState
    for (const { streamId, canonical } of events) {
      const queue = QUEUES[JSON.parse(canonical).type]
      if (queue === undefined || state.state === 'unknown') continue
      const lane = laneName({ chainId: state.intent.chainId, address: state.intent.from })
      const lease = partitionLease(queue, partitionOf(lane) ?? '')
      const fence = guards?.fence
      if (fence?.name !== lease || !store.leases.isNewest(lease, fence.fence))
        broken(`${streamId} is changed by a process that does not have ${lease}`)
    }
  }
}
