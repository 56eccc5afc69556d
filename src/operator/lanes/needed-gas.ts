/** What signed bytes need by the rules that the nodes of a chain show now. Read only. */
import { createCodeLookup } from '../../chain/code.ts'
import { createExistsFinally } from '../../chain/existence.ts'
import { forkToHold, readFork } from '../../chain/fork-watch.ts'
import type { RpcReader } from '../../chain/json-rpc.ts'
import { createEstimateGas } from '../../transactions/estimate-gas.ts'
import { createNeededGas, type NeededGas } from '../../transactions/needed-gas.ts'
import { createPlainGas } from '../../transactions/plain-gas.ts'

export async function neededGasBy(client: RpcReader): Promise<NeededGas> {
  const status = await readFork(client)
  if (status === null) return async () => null
  const forks = { status: async () => status, fork: async () => forkToHold(status) }
  const code = createCodeLookup({ client, now: () => performance.now() })
  const plainGas = createPlainGas({ client, forks, exists: createExistsFinally(client) })
  return createNeededGas({ forks, estimateGas: createEstimateGas(client, code, plainGas) })
}
