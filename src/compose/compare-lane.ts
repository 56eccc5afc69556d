/**
 * The comparison of a lane with its chain, for signers and for the operator command; and whether a signer may start.
 */
import { createCheckpointFile } from '../audit/checkpoints/checkpoint-file.ts'
import { createRefuseShortLog, type RefuseShortLog } from '../audit/checkpoints/refuse-short-log.ts'
import { Conflict } from '../core/errors.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { type CompareLane, type CompareLanePorts, createCompareLane } from '../transactions/compare-lane.ts'
import { createOutsideReads } from '../transactions/outside.ts'
import type { TagKeys } from '../transactions/tags.ts'
import type { Kernel } from './kernel.ts'

function composeRefuseShortLog({ config, pool }: Kernel): RefuseShortLog {
  return createRefuseShortLog(pool, createCheckpointFile(config.audit.checkpointFile))
}

/**
 * Checked at the start of a signer. An unavailable database does not fail it: lanes check again before they sign.
 *
 * @throws Conflict `log_too_short`
 */
export async function requireWholeLog(kernel: Kernel): Promise<void> {
  const refusal = await composeRefuseShortLog(kernel)('start').catch((error: unknown) => {
    if (!isConnectionFailure(error)) throw error
    return null
  })
  if (refusal !== null) throw new Conflict('log_too_short', `The signer does not start: ${refusal}.`)
}

type Told = Pick<CompareLanePorts, 'onHeld' | 'onRecovered'>

/** @param told callbacks; by default the signer's logs and metrics */
export function composeCompareLane(kernel: Kernel, keys: TagKeys, told: Told = telling(kernel)): CompareLane {
  const { pool, log, chainOf } = kernel
  return createCompareLane({
    log,
    outside: createOutsideReads(pool),
    keys,
    untagged: async () => false,
    clientOf: (chainId) => chainOf(chainId).client,
    refusal: composeRefuseShortLog(kernel),
    ...told,
  })
}

function telling({ chainOf, logger, metrics }: Kernel): Told {
  const fields = (chainId: number, address: string) => ({ network: chainOf(chainId).settings.network, address })
  return {
    onHeld({ chainId, address }, reason) {
      metrics.countHeldLane(chainOf(chainId).settings.network)
      logger.error(
        { ...fields(chainId, address), reason },
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
