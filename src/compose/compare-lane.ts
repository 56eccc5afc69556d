/** What a signer, and the command that does the same at once, compare a lane with. */
import { createCheckpointFile } from '../audit/checkpoints/checkpoint-file.ts'
import { createRefuseShortLog } from '../audit/checkpoints/refuse-short-log.ts'
import { type CompareLane, createCompareLane } from '../transactions/compare-lane.ts'
import { createOutsideReads } from '../transactions/outside.ts'
import type { Kernel } from './kernel.ts'

export function composeCompareLane(kernel: Kernel): CompareLane {
  const { config, pool, log, chainOf, logger, metrics } = kernel
  const fields = (chainId: number, address: string) => ({ network: chainOf(chainId).settings.network, address })
  return createCompareLane({
    log,
    outside: createOutsideReads(pool),
    clientOf: (chainId) => chainOf(chainId).client,
    refusal: createRefuseShortLog(pool, createCheckpointFile(config.audit.checkpointFile)),
    onHeld({ chainId, address }, reason) {
      metrics.countHeldLane(chainOf(chainId).settings.network)
      logger.error(
        { ...fields(chainId, address), reason },
        'a lane is held: nodes show more of it than the log knows, see npm run bursar -- stuck',
      )
    },
    onRecovered({ chainId, address }, transactionId, { nonce, hash }) {
      metrics.countRecovered(chainOf(chainId).settings.network)
      logger.warn(
        { ...fields(chainId, address), transaction_id: transactionId, nonce, hash },
        'a signed transaction that the log had forgotten was found on chain',
      )
    },
  })
}
