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

export function rotateAuditKeyCommand(
  within: Within<{
    /** @throws TreeDamaged when the log contradicts what was signed before: the key then stays */
    readonly rotateAuditKey: (onProgress: (leaves: number) => void) => Promise<RotatedAuditKey>
    readonly publicKeyFile: string
  }>,
): CliCommand {
  return {
    name: 'audit rotate-key',
    summary: 'replace the signing key with a new one, in a checkpoint that both keys sign',
    details:
      'Run it where the auditor runs. The auditor can keep running: it loads the new key automatically. The new key replaces the old one,\n' +
      'which is deleted. The old key stays valid for checkpoints up to the size of the handover, the new key for later ones. Either of\n' +
      'the public keys can verify all checkpoints. If the command is killed, the auditor continues with the valid key: run the command again.',
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
      ? 'An interrupted rotation is now complete.'
      : `The signing key was replaced at ${checkpoint.size} events.`
  io.print(value, `${what} The new public key:\n${to.encoded}\n`)
  io.note(`Give ${publicKeyFile} and the checkpoint file to everyone who verifies this log.`)
}
