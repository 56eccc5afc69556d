/** The commands of swaps. */
import type { CliCommand } from '../cli/command.ts'
import { createDeployGuard, type DeployGuard } from '../swaps/deploy-guard.ts'
import { deployGuardCommand } from '../swaps/guard-command.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import { createApiContext } from './api-context.ts'
import type { Kernel } from './kernel.ts'
import { withKernel } from './run-command.ts'

export function composeSwapCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return [deployGuardCommand((task) => withKernel(env, (kernel) => task({ deployGuard: composeDeployGuard(kernel) })))]
}

function composeDeployGuard(kernel: Kernel): DeployGuard {
  return createDeployGuard({
    ...createApiContext(kernel),
    pool: kernel.pool,
    factsOf: createWalletFacts(kernel.pool),
    clientOf: (chainId) => kernel.chainOf(chainId).agreed,
  })
}
