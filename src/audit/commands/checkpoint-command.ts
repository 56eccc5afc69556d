/** `audit checkpoint`: signs the tree over the log as it is now. */
import type { CliCommand, ExitCode, Within } from '../../cli/command.ts'
import type { TakeCheckpoint } from '../checkpoints/take-checkpoint.ts'

export type CheckpointPorts = { readonly takeCheckpoint: TakeCheckpoint; readonly checkpointFile: string }

export function checkpointCommand(within: Within<CheckpointPorts>): CliCommand {
  return {
    name: 'audit checkpoint',
    summary: 'sign the tree over the log as it is now, into the database and the file outside it',
    details:
      'Needs the signing key: run it where the auditor runs. When nothing came since the last checkpoint, that one is printed. A history\n' +
      'that contradicts what was signed before is refused with exit code 1.',
    run: (_input, io) =>
      within<ExitCode>(async ({ takeCheckpoint, checkpointFile }) => {
        const progress = io.progress({ unit: 'events', total: null })
        const taken = await takeCheckpoint(undefined, progress.at).finally(progress.end)
        const { origin, size, root, note, isNew } = taken
        io.print({ origin, size, root: root.toString('base64'), is_new: isNew, note, file: checkpointFile }, note)
        io.note(
          isNew
            ? `Signed ${size} events; appended to ${checkpointFile}.`
            : 'Nothing came since; this is the checkpoint from before.',
        )
        return 0
      }),
  }
}
