/** Contract calls that depend on each other, opened on a running service: no route opens such. */
import { createApiContext } from '../../src/compose/api-context.ts'
import type { Kernel } from '../../src/compose/kernel.ts'
import type { CallRecord } from '../../src/transactions/intent.ts'
import { prepareCall } from '../../src/transactions/prepare-call.ts'
import type { PreparedTransaction } from '../../src/transactions/prepare-transaction.ts'
import type { LoadWallet } from './load.ts'

export type OpenCall = {
  readonly to: string
  readonly data: string
  /** The id of a transaction, or the index of a call in the same commit. */
  readonly dependsOn?: string | number
}

/** What a call records whose arguments nobody decodes. */
function recordOf(data: string): CallRecord {
  const selector = data.slice(0, 10)
  return { function: null, signature: null, selector, args: null, events: [], errors: [], spends: [] }
}

/** Opens calls in one commit. Unlike NFT transactions, they succeed without a log. Returns their ids. */
export async function openCalls(
  kernel: Kernel,
  { id: walletId }: Pick<LoadWallet, 'id'>,
  ...calls: readonly OpenCall[]
): Promise<string[]> {
  const ctx = createApiContext(kernel)
  const owner = { tenantId: 'acme', environment: 'mainnet' } as const
  const prepared: PreparedTransaction[] = []
  for (const { to, data, dependsOn: on = null } of calls) {
    const dependsOn = typeof on === 'number' ? (prepared[on]?.transactionId ?? null) : on
    const request = { owner, walletId, kind: 'ContractCallRequested', to, data, gasLimit: 120_000n, dependsOn } as const
    const metadata = { tenantId: owner.tenantId, actor: 'test' }
    prepared.push(await prepareCall(ctx, { ...request, call: recordOf(data), subject: null }, metadata))
  }
  await kernel.log.append({ decisions: prepared.map(({ decision }) => decision), guards: prepared[0]?.guards ?? {} })
  return prepared.map(({ transactionId }) => transactionId)
}
