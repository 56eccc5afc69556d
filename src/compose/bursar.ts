/** The operator's commands, each with the parts that it needs: they are made when a command runs, not before. */
import type { CliCommand } from '../cli/command.ts'
import { composeAuditCommands } from './audit-commands.ts'
import { composeOperator } from './operator.ts'
import { composeReplayCommands } from './replay-commands.ts'
import { composeRotationCommands } from './rotation-commands.ts'

type Compose = (env: NodeJS.ProcessEnv) => readonly CliCommand[]

/** In the order in which the help lists them. */
const PARTS: readonly Compose[] = [
  composeOperator,
  composeReplayCommands,
  composeAuditCommands,
  composeRotationCommands,
]

/** @param env where the settings are read from */
export function composeBursar(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return PARTS.flatMap((compose) => compose(env))
}
