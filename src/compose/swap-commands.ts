/** The commands of swaps. */
import type { CliCommand } from '../cli/command.ts'
import { createDeployGuard, type DeployGuard } from '../swaps/deploy-guard.ts'
import { deployGuardCommand } from '../swaps/guard-command.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import { apiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'
import { withKernel } from './run-command.ts'
import { transactionParts } from './transaction-parts.ts'

export function composeSwapCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return [deployGuardCommand((task) => withKernel(env, (kernel) => task({ deployGuard: composeDeployGuard(kernel) })))]
}

function composeDeployGuard(kernel: Kernel): DeployGuard {
  const { ports } = transactionParts(kernel, apiParts(kernel))
  return createDeployGuard({
    ...ports,
    pool: kernel.pool,
    factsOf: createWalletFacts(kernel.pool),
    clientOf: (chainId) => kernel.chainOf(chainId).agreed,
  })
}
