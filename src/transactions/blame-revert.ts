/** Which contract makes a swap revert before it is signed: its tokens can imitate the words of its router. */
import { askReverter, traceCall } from '../chain/call-trace.ts'
import { toQuantity } from '../chain/hex.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import type { GasEstimate, GasRequest } from './estimate-gas.ts'

/** Adds to the refusals of swaps who reverted, where a node says it and still reverts with the same reason. */
export function blameReverts(
  client: RpcReader,
  requests: readonly GasRequest[],
  estimates: readonly GasEstimate[],
): Promise<readonly GasEstimate[]> {
  return Promise.all(
    estimates.map(async (estimate, index) => {
      const request = requests[index]
      if (estimate.ok || estimate.code !== 'execution_reverted' || request?.isSwap !== true) return estimate
      const { from, call, mostGas } = request
      const traced = { from, to: call.to, value: toQuantity(call.value), data: call.data, gas: toQuantity(mostGas) }
      const reverter = await askReverter(client, traceCall(traced, 'latest'), call.to)
      return reverter?.reason === estimate.reason ? { ...estimate, revertedBy: reverter.by } : estimate
    }),
  )
}
