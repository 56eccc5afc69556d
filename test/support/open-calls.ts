/** Contract calls, opened on a running service as its routes open them. */
import type { Kernel } from '../../src/compose/kernel.ts'
import { prepareCall } from '../../src/transactions/prepare-call.ts'
import type { PreparedTransaction, PreparePorts } from '../../src/transactions/prepare-transaction.ts'
import { createFindWallet, withAddress } from '../../src/wallets/find-wallet.ts'
import { createWalletFacts } from '../../src/wallets/wallet-facts.ts'
import type { LoadWallet } from './load.ts'

export type OpenCall = {
  readonly to: string
  readonly data: string
  /** The id of a transaction, or the index of a call in the same commit. */
  readonly dependsOn?: string | number
}

/** Opens calls in one commit. Returns their ids. */
export type OpenCalls = (wallet: Pick<LoadWallet, 'id'>, ...calls: readonly OpenCall[]) => Promise<string[]>

export function createOpenCalls({ pool, log, newId, chainOf }: Kernel): OpenCalls {
  const findWallet = createFindWallet(createWalletFacts(pool))
  const ports: PreparePorts = {
    log,
    newId,
    findSender: async (owner, id) => withAddress(await findWallet(owner, id)),
    limitsOf: async () => [],
    usdPriceOf: async () => null,
    quoteOf: (chainId) => chainOf(chainId).fees.quote(),
    gasRules: (chainId) => chainOf(chainId).forks.rules(),
    completionMs: () => 1_000,
  }
  const owner = { tenantId: 'acme', environment: 'mainnet' } as const
  return async ({ id: walletId }, ...calls) => {
    const prepared: PreparedTransaction[] = []
    for (const [n, { to, data, dependsOn = null }] of calls.entries()) {
      const dependency = typeof dependsOn === 'number' ? (prepared[dependsOn]?.transactionId ?? null) : dependsOn
      const request = { owner, walletId, kind: 'MintRequested', to, data, gasLimit: 120_000n } as const
      const subject = { type: 'mint', id: `mint_${n}` } as const
      const metadata = { tenantId: owner.tenantId, actor: 'test' }
      prepared.push(await prepareCall(ports, { ...request, subject, dependsOn: dependency }, metadata))
    }
    await log.append({ changes: prepared.map(({ change }) => change), guards: prepared[0]?.guards ?? {} })
    return prepared.map(({ transactionId }) => transactionId)
  }
}
