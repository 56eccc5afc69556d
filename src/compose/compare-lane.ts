/**
 * The comparison of a lane with its chain, for signers and for the operator command.
 */
import type { WatchRestores } from '../restores/watch-restores.ts'
import { type CompareLane, type CompareLanePorts, createCompareLane } from '../transactions/compare-lane.ts'
import { heldText } from '../transactions/held-cause.ts'
import { createOutsideReads } from '../transactions/outside.ts'
import type { Kernel } from './kernel.ts'

type Told = Pick<CompareLanePorts, 'onHeld' | 'onRecovered'>

/** @param told callbacks; by default the signer's logs and metrics */
export function composeCompareLane(
  kernel: Kernel,
  { refusal }: WatchRestores,
  told: Told = telling(kernel),
): CompareLane {
  const { pool, log, chainOf } = kernel
  return createCompareLane({
    log,
    outside: createOutsideReads(pool),
    clientOf: (chainId) => chainOf(chainId).client,
    refusal,
    ...told,
  })
}

function telling({ chainOf, logger, metrics }: Kernel): Told {
  const fields = (chainId: number, address: string) => ({ network: chainOf(chainId).settings.network, address })
  return {
    onHeld({ chainId, address }, cause) {
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
