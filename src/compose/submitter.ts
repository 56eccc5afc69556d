/** The submitter process: submits signed bytes to the network. */

import { settingPrefix } from '../config/chains.ts'
import { onceEach } from '../core/once-each.ts'
import { chainName } from '../operator/words.ts'
import { createEstimateGas } from '../transactions/estimate-gas.ts'
import { createNeededGas, lackGas } from '../transactions/gas-budget.ts'
import { createLaneReads } from '../transactions/lanes.ts'
import { createPlainGas } from '../transactions/plain-gas.ts'
import { type SubmitContext, submitLane } from '../transactions/submit-lane.ts'
import { handleSending, KINDS } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { workOnLanes } from './lanes.ts'
import { createLeftBytes } from './left-bytes.ts'
import type { Work } from './run-process.ts'

/** Each chain remembers on its own what its transactions need. */
function lackGasOn({ chainOf, clock: now }: Kernel): SubmitContext['lackGas'] {
  const neededGasOf = onceEach((chainId: number) => {
    const { agreed, foreign, code, forks, exists } = chainOf(chainId)
    const estimateGas = createEstimateGas(foreign, code, createPlainGas({ agreed, forks, exists }))
    return createNeededGas({ forks, estimateGas })
  })
  return (chainId, transactions) =>
    lackGas({ forks: chainOf(chainId).forks, now, neededGas: neededGasOf(chainId) }, transactions)
}

export async function startSubmitter(kernel: Kernel): Promise<Work> {
  const { pool, log, jobs, logger, clock, chainOf } = kernel
  const left = createLeftBytes(clock)
  const ctx = {
    ...kernel,
    kinds: KINDS,
    lanes: createLaneReads(pool),
    lackGas: lackGasOn(kernel),
    onLeft(...[chainId, transactionId, type]: Parameters<SubmitContext['onLeft']>) {
      const relayed = KINDS.get(type)?.relays
      if (relayed === undefined)
        return logger.warn(
          { transaction_id: transactionId },
          'no capability says who may see the bytes of a transaction',
        )
      const { settings } = chainOf(chainId)
      const { noun, setting: name } = relayed
      const setting = `${settingPrefix(settings)}${name}`
      left.add({ name: chainName(settings), noun, setting }, transactionId)
      logger.warn(
        { transaction_id: transactionId, setting },
        `a ${noun} was requested with relays that the setting lacks`,
      )
    },
  }
  const submitting = workOnLanes(kernel, { queue: 'submit', pass: (lane, lease) => submitLane(ctx, lane, lease) })
  const workers = [submitting, ...handleSending(jobs, { pool, log })]
  return {
    drain: async () => void (await Promise.all(workers.map((worker) => worker.close()))),
    problem: left.problem,
    checks: [{ name: 'relays', check: async () => undefined, warning: async () => left.problem() }],
  }
}
