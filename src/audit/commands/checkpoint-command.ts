/** `audit checkpoint`: signs the tree of the current log. */
import type { CliCommand, CliIo, ExitCode, Within } from '../../cli/command.ts'
import type { RequestAnchor } from '../anchor/request-anchor.ts'
import type { TakeCheckpoint, TakenCheckpoint } from '../checkpoints/take-checkpoint.ts'

export type CheckpointPorts = {
  readonly takeCheckpoint: TakeCheckpoint
  readonly checkpointFile: string
  readonly requestAnchor: RequestAnchor
}

export function checkpointCommand(within: Within<CheckpointPorts>): CliCommand {
  return {
    name: 'audit checkpoint',
    summary: 'sign the tree over the log as it is now, into the database and the file outside it',
    details:
      'Needs the signing key: run it where the auditor runs. When nothing came since the last checkpoint, that one is printed. A history\n' +
      'that contradicts what was signed before is refused with exit code 1. With --anchor the note goes on chain as well, as the calldata\n' +
      'of a transaction of that wallet, which pays the gas and goes through its lane: npm run bursar -- explain tells what becomes of it.',
    options: [{ flags: '--anchor <wallet_id>', description: 'anchor the checkpoint on the chain of this wallet' }],
    run: ({ options }, io) =>
      within<ExitCode>(async ({ takeCheckpoint, checkpointFile, requestAnchor }) => {
        const progress = io.progress({ unit: 'events', total: null })
        const taken = await takeCheckpoint(undefined, progress.at).finally(progress.end)
        const anchor = typeof options.anchor === 'string' ? await requestAnchor(taken, options.anchor) : null
        tell(io, taken, checkpointFile, anchor?.id ?? null)
        return 0
      }),
  }
}

function tell(io: CliIo, taken: TakenCheckpoint, file: string, anchor: string | null): void {
  const { origin, size, root, note, isNew } = taken
  io.print(
    { origin, size, root: root.toString('base64'), is_new: isNew, note, file, anchor_transaction_id: anchor },
    note,
  )
  io.note(
    isNew ? `Signed ${size} events; appended to ${file}.` : 'Nothing came since; this is the checkpoint from before.',
  )
  if (anchor !== null) io.note(`Anchored by ${anchor}: npm run bursar -- explain ${anchor}`)
}
