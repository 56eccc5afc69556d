/** What bytes need by the rules that the nodes of a chain show now. Read only. */
import { createCodeLookup } from '../../chain/code.ts'
import { createExistsFinally } from '../../chain/existence.ts'
import { forkToHold, readFork } from '../../chain/fork-watch.ts'
import { EMPTY_TRANSFER_GAS } from '../../chain/forks.ts'
import type { RpcReader } from '../../chain/json-rpc.ts'
import { createEstimateGas } from '../../transactions/estimate-gas.ts'
import { createNeededGas } from '../../transactions/gas-budget.ts'
import { createPlainGas, emptyTransferGas } from '../../transactions/plain-gas.ts'
import type { KnownTransaction } from '../../transactions/state.ts'

export type LaneGas = {
  /** What the head of the lane lacks; `null` if it has enough, or nobody knows. */
  readonly head: bigint | null
  /** A transaction of nothing: a cancellation, or a filler of a gap. */
  readonly empty: bigint
}

export const USUAL_GAS: LaneGas = { head: null, empty: EMPTY_TRANSFER_GAS }

type LaneOf = { readonly address: string; readonly head: KnownTransaction | null }

export async function readGas(client: RpcReader, lanes: readonly LaneOf[]): Promise<LaneGas[]> {
  const status = lanes.length === 0 ? null : await readFork(client)
  if (status === null) return lanes.map(() => USUAL_GAS)
  const forks = { status: async () => status, fork: async () => forkToHold(status) }
  const code = createCodeLookup({ client, now: () => performance.now() })
  const plainGas = createPlainGas({ agreed: client, forks, exists: createExistsFinally(client) })
  const neededGas = createNeededGas({ forks, estimateGas: createEstimateGas(client, code, plainGas) })
  return Promise.all(
    lanes.map(async ({ address, head }) => ({
      head: head === null ? null : await neededGas(head),
      empty: await emptyTransferGas(plainGas, address),
    })),
  )
}
