/** The commands that replay, rebuild and move the log. */
import type { CliCommand, Within } from '../cli/command.ts'
import { TABLES } from '../declarations.ts'
import { exportCommand } from '../replay/export-command.ts'
import { importCommand } from '../replay/import-command.ts'
import { rebuildCommand } from '../replay/rebuild-command.ts'
import { replayCommand } from '../replay/replay-command.ts'
import type { ReplayContext } from '../replay/replay-context.ts'
import { CAPABILITIES, LOG_CONTENTS } from './capabilities.ts'
import { withKernel } from './run-command.ts'

/**
 * In the order of the help. `import` refuses evidence where no capability opens it.
 *
 * @param env source of the settings
 */
export function replayCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  const within: Within<ReplayContext> = (task) =>
    withKernel(env, ({ pool, clock }) => task({ pool, clock, contents: LOG_CONTENTS }))
  const openEvidence = CAPABILITIES.find((capability) => capability.openEvidence)?.openEvidence
  return [
    replayCommand(within),
    rebuildCommand(within, TABLES),
    exportCommand(within),
    importCommand(within, openEvidence ?? null),
  ]
}
