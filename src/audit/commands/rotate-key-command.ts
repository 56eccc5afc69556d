/** `audit rotate-key`: hands the log over to a new signing key, in a checkpoint signed by both keys. */
import type { CliCommand, CliIo, ExitCode, Within } from '../../cli/command.ts'
import type { Checkpoint } from '../note/checkpoint.ts'
import type { NoteVerifier } from '../note/note-keys.ts'

export type RotatedAuditKey = {
  /** The checkpoint signed by both keys, and the retired key; `null` when an interrupted rotation was completed. */
  readonly checkpoint: Checkpoint | null
  readonly from: NoteVerifier | null
  readonly to: NoteVerifier
}

/** @throws TreeDamaged when the log contradicts what was signed before: the key then stays */
export type RotateAuditKey = (onProgress: (leaves: number) => void) => Promise<RotatedAuditKey>

export type RotateAuditKeyPorts = { readonly rotateAuditKey: RotateAuditKey; readonly publicKeyFile: string }

export function rotateAuditKeyCommand(within: Within<RotateAuditKeyPorts>): CliCommand {
  return {
    name: 'audit rotate-key',
    summary: 'hand the log over to a new signing key, in a checkpoint that both keys sign',
    details:
      'Run it where the auditor runs, which may go on: it takes up the new key by itself. The new key is made in the place of the old one,\n' +
      'which is deleted. Checkpoints up to the size of the handover count by the old key, later ones by the new key: whoever has either of\n' +
      'the public keys can verify all of them. Killed at any point, the auditor goes on with the key that counts; run it again then.',
    run: (_input, io) =>
      within<ExitCode>(async ({ rotateAuditKey, publicKeyFile }) => {
        const progress = io.progress({ unit: 'events', total: null })
        const rotated = await rotateAuditKey(progress.at).finally(progress.end)
        tell(io, rotated, publicKeyFile)
        return 0
      }),
  }
}

function tell(io: CliIo, { checkpoint, from, to }: RotatedAuditKey, publicKeyFile: string): void {
  const value = {
    old_key: from?.encoded ?? null,
    new_key: to.encoded,
    size: checkpoint?.size ?? null,
    note: checkpoint?.note ?? null,
    completed_earlier: checkpoint === null,
  }
  const what =
    checkpoint === null
      ? 'A rotation that was interrupted is complete now.'
      : `The log of ${checkpoint.size} events was handed over to a new key.`
  io.print(value, `${what} It signs from now on:\n${to.encoded}\n`)
  io.note(`Give ${publicKeyFile} and the checkpoint file to whoever verifies this log.`)
}
