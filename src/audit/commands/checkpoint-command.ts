/** `audit checkpoint`: signs the tree of the current log. */
import type { CliCommand, CliIo, ExitCode, Within } from '../../cli/command.ts'
import type { Accepted } from '../../event-log/accept.ts'
import type { TakeCheckpoint, TakenCheckpoint } from '../checkpoints/take-checkpoint.ts'
import type { Checkpoint } from '../note/checkpoint.ts'

export function checkpointCommand(
  within: Within<{
    readonly takeCheckpoint: TakeCheckpoint
    readonly checkpointFile: string
    readonly requestAnchor: (checkpoint: Checkpoint, walletId: string) => Promise<Accepted>
  }>,
): CliCommand {
  return {
    name: 'audit checkpoint',
    summary: 'sign the current head of the log, and store the checkpoint in the database and in the checkpoint file',
    details:
      'Requires the signing key: run it where the auditor runs. Without new events it prints the last checkpoint. If the log\n' +
      'contradicts an earlier checkpoint, it refuses with exit code 1. With --anchor it also sends the checkpoint to the chain, in the calldata\n' +
      'of a transaction of the wallet, which pays the gas: npm run bursar -- explain shows the status of the transaction.',
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
    isNew
      ? `Signed ${size} events; the checkpoint was appended to ${file}.`
      : 'There are no new events; this is the last checkpoint.',
  )
  if (anchor !== null) io.note(`Anchored by ${anchor}: npm run bursar -- explain ${anchor}`)
}
