/** The commands that replay, rebuild and move the log. */
import type { CliCommand, Within } from '../cli/command.ts'
import { exportCommand } from '../replay/export-command.ts'
import { importCommand } from '../replay/import-command.ts'
import type { ReplayPorts } from '../replay/ports.ts'
import { rebuildCommand } from '../replay/rebuild-command.ts'
import { replayCommand } from '../replay/replay-command.ts'
import { ALL_AGGREGATES } from './aggregates.ts'
import { withKernel } from './run-command.ts'

export function composeReplayCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  const within: Within<ReplayPorts> = (task) =>
    withKernel(env, ({ pool, clock }) => task({ pool, clock, aggregates: ALL_AGGREGATES }))
  return [replayCommand(within), rebuildCommand(within), exportCommand(within), importCommand(within)]
}
