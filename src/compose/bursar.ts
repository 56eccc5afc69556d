/** The commands of `npm run bursar`, with their parts, which are created when a command runs, not before. */
import type { CliCommand } from '../cli/command.ts'
import type { InHelp, Opens } from '../operator/for-operators.ts'
import { tellingOutages } from '../operator/operator-context.ts'
import { createApiContext } from './api-context.ts'
import { CAPABILITIES } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { composeOperator } from './operator.ts'
import { policyCommands } from './policy-commands.ts'
import { replayCommands } from './replay-commands.ts'
import { rotateKeystoreKeyCommand } from './rotate-keystore-key.ts'
import { withKernel } from './run-command.ts'

/**
 * In the order of the help: commands of capabilities name their place among those here.
 *
 * @param env source of the settings
 */
export async function bursarCommands(env: NodeJS.ProcessEnv): Promise<readonly CliCommand[]> {
  const given = await Promise.all(CAPABILITIES.map(({ forOperators }) => forOperators?.()))
  const opens: Opens = {
    within: (task) => withKernel(env, (kernel) => task(commandContext(kernel))),
    reporting: tellingOutages((task) => withKernel(env, (kernel) => task(commandContext(kernel)), { reports: true })),
  }
  return [
    ...composeOperator(
      env,
      given.flatMap((gives) => gives?.findings ?? []),
    ),
    ...at(70, policyCommands(env)),
    ...at(80, replayCommands(env)),
    { place: 100, command: rotateKeystoreKeyCommand(env) },
    ...given.flatMap((gives) => gives?.commands?.(opens) ?? []),
  ]
    .sort((a, b) => a.place - b.place)
    .map(({ command }) => command)
}

function at(place: number, commands: readonly CliCommand[]): readonly InHelp[] {
  return commands.map((command) => ({ place, command }))
}

function commandContext(kernel: Kernel) {
  return { ...kernel, capabilities: CAPABILITIES, api: () => createApiContext(kernel) }
}
