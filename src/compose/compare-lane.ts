/**
 * The comparison of a lane with its chain, for signers and for the operator command.
 */
import type { WatchRestores } from '../restores/watch-restores.ts'
import { type CompareLane, type CompareLanePorts, createCompareLane } from '../transactions/compare-lane.ts'
import { heldText } from '../transactions/held-cause.ts'
import { createOutsideReads } from '../transactions/outside.ts'
import type { TagKeys } from '../transactions/tags.ts'
import type { Kernel } from './kernel.ts'

type Told = Pick<CompareLanePorts, 'onHeld' | 'onRecovered'>

export function composeCompareLane(
  kernel: Kernel,
  keys: TagKeys,
  { refusal, restoreState }: WatchRestores,
  told: Told,
): CompareLane {
  const { pool, log, chainOf } = kernel
  return createCompareLane({
    log,
    outside: createOutsideReads(pool),
    keys,
    untagged: async (epoch) => (await restoreState(epoch)).untagged,
    clientOf: (chainId) => chainOf(chainId).client,
    now: () => performance.now(),
    refusal,
    ...told,
  })
}

/** The signer's logs and metrics. @param record called for what is held too */
export function tellingOfLanes({ chainOf, logger, metrics }: Kernel, record: Told['onHeld']): Told {
  const fields = (chainId: number, address: string) => ({ network: chainOf(chainId).settings.network, address })
  return {
    onHeld(lane, cause) {
      const { chainId, address } = lane
      record(lane, cause)
      metrics.countHeldLane(chainOf(chainId).settings.network)
      logger.error(
        { ...fields(chainId, address), reason: heldText(cause) },
        'lane held: the chain has transactions that the event log does not have; see npm run bursar -- stuck',
      )
    },
    onRecovered({ chainId, address }, transactionId, { nonce, hash }) {
      metrics.countRecovered(chainOf(chainId).settings.network)
      logger.warn(
        { ...fields(chainId, address), transaction_id: transactionId, nonce, hash },
        'found a signed transaction on chain that was missing in the event log',
      )
    },
  }
}
