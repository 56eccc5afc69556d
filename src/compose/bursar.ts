/** The operator commands with their parts, which are created when a command runs, not before. */
import { once } from 'node:events'
import type { CliCommand } from '../cli/command.ts'
import { createDeployGuard } from '../swaps/deploy-guard.ts'
import { deployGuardCommand } from '../swaps/guard-command.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import { listenCommand } from '../webhooks/listen-command.ts'
import { createApiContext } from './api-context.ts'
import { composeAuditCommands } from './audit-commands.ts'
import { composeOperator } from './operator.ts'
import { composePolicyCommands } from './policy-commands.ts'
import { composeReplayCommands } from './replay-commands.ts'
import { composeRotationCommands } from './rotation-commands.ts'
import { withKernel } from './run-command.ts'

type Compose = (env: NodeJS.ProcessEnv) => readonly CliCommand[]

/** In the order of the help. */
const PARTS: readonly Compose[] = [
  composeOperator,
  composeWebhookCommands,
  composeSwapCommands,
  composePolicyCommands,
  composeReplayCommands,
  composeAuditCommands,
  composeRotationCommands,
]

/** They need no database. */
function composeWebhookCommands(): readonly CliCommand[] {
  return [
    listenCommand({
      clock: Date.now,
      untilStopped: async () => void (await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])),
    }),
  ]
}

function composeSwapCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return [
    deployGuardCommand((task) =>
      withKernel(env, (kernel) => {
        const clientOf = (chainId: number) => kernel.chainOf(chainId).agreed
        const ctx = { ...createApiContext(kernel), factsOf: createWalletFacts(kernel.pool), clientOf }
        return task({ deployGuard: createDeployGuard(ctx) })
      }),
    ),
  ]
}

/** @param env source of the settings */
export function composeBursar(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return PARTS.flatMap((compose) => compose(env))
}
