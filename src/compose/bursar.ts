/** The operator commands with their parts, which are created when a command runs, not before. */
import { once } from 'node:events'
import type { CliCommand } from '../cli/command.ts'
import { deployGuardCommand } from '../swaps/guard-command.ts'
import { listenCommand } from '../webhooks/listen-command.ts'
import { createApiContext } from './api-context.ts'
import { auditCommands } from './audit-commands.ts'
import { composeOperator } from './operator.ts'
import { policyCommands } from './policy-commands.ts'
import { replayCommands } from './replay-commands.ts'
import { composeRotationCommands } from './rotation-commands.ts'
import { withKernel } from './run-command.ts'

/**
 * In the order of the help.
 *
 * @param env source of the settings
 */
export function bursarCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return [
    ...composeOperator(env),
    // It needs no database.
    listenCommand({
      clock: Date.now,
      untilStopped: async () => void (await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])),
    }),
    deployGuardCommand((task) => withKernel(env, (kernel) => task(createApiContext(kernel)))),
    ...policyCommands(env),
    ...replayCommands(env),
    ...auditCommands(env),
    ...composeRotationCommands(env),
  ]
}
