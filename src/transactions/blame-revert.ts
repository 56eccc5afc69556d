/** Which contract makes a call revert before it is signed: tokens of a swap can imitate the words of its router. */
import { askReverter, traceCall } from '../chain/call-trace.ts'
import { toQuantity } from '../chain/hex.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import type { Call } from './build-call.ts'

type Asked = { readonly from: string; readonly call: Call; readonly mostGas: bigint; readonly asksReverter?: true }
type Judged = { readonly ok: boolean; readonly code?: string; readonly reason?: string }

/** Adds to the refusals of calls that ask for it who reverted; `null` where no node says it, or it reverts with another reason now. */
export function blameReverts<Estimate extends Judged>(
  client: RpcReader,
  requests: readonly Asked[],
  estimates: readonly Estimate[],
): Promise<readonly (Estimate & { readonly revertedBy?: string | null })[]> {
  return Promise.all(
    estimates.map(async (estimate, index) => {
      const request = requests[index]
      if (estimate.ok || estimate.code !== 'execution_reverted' || request?.asksReverter !== true) return estimate
      const { from, call, mostGas } = request
      const traced = { from, to: call.to, value: toQuantity(call.value), data: call.data, gas: toQuantity(mostGas) }
      const reverter = await askReverter(client, traceCall(traced, 'latest'), call.to)
      return { ...estimate, revertedBy: reverter !== null && reverter.reason === estimate.reason ? reverter.by : null }
    }),
  )
}
