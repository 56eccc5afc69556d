/** The operator commands with their parts, which are created when a command runs, not before. */
import type { CliCommand } from '../cli/command.ts'
import { composeAuditCommands } from './audit-commands.ts'
import { composeOperator } from './operator.ts'
import { composePolicyCommands } from './policy-commands.ts'
import { composeReplayCommands } from './replay-commands.ts'
import { composeRotationCommands } from './rotation-commands.ts'
import { composeSwapCommands } from './swap-commands.ts'
import { composeWebhookCommands } from './webhook-commands.ts'

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

/** @param env source of the settings */
export function composeBursar(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return PARTS.flatMap((compose) => compose(env))
}
