/** `audit prove` writes the proof of an event; `audit check` verifies it with only the public key. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool } from 'pg'
import { BadInput, type CliCommand, type CliIo, type ExitCode, type Within } from '../../cli/command.ts'
import { shown, shownText } from '../../cli/printed.ts'
import { parseEventId } from '../../core/event-ids.ts'
import { isMissing } from '../../keys/private-files.ts'
import { PUBLIC_KEY_NAME, readVerifier } from '../checkpoints/audit-key.ts'
import type { NoteVerifier } from '../note/note-keys.ts'
import { checkProof, type ProofCheck } from '../proof/check-proof.ts'
import { encodeProof } from '../proof/proof-file.ts'
import { proveEvent } from '../proof/prove-event.ts'

export function proveCommand(within: Within<{ readonly pool: Pool; readonly publicKeyFile: string }>): CliCommand {
  return {
    name: 'audit prove',
    summary: 'write a proof of an event, which anybody can check with the public key',
    details:
      'The id of an event is evt_<stream>.<version>, such as evt_wallet-wal_0197….1. The file contains the event, its position, its path to the root and\n' +
      'the signed checkpoint. Exit code 1 if no checkpoint covers the event yet: run audit checkpoint first.',
    arguments: [{ name: '<event_id>', description: 'id of the event' }],
    options: [
      {
        flags: '--out <file>',
        description: 'output file, or - for standard output; the default is <event_id>.proof.json',
      },
    ],
    run: ({ arguments: [eventId = ''], options }, io) => {
      if (parseEventId(eventId) === undefined) {
        throw new BadInput(
          `${JSON.stringify(eventId)} is not the id of an event: it must be evt_<stream>.<version>, such as evt_wallet-wal_0197….1.`,
        )
      }
      return within<ExitCode>(async ({ pool, publicKeyFile }) => {
        const text = encodeProof(await proveEvent(pool, eventId, null))
        const out = typeof options.out === 'string' ? options.out : `${eventId.replaceAll(/[^\w.-]/g, '_')}.proof.json`
        if (out === '-') {
          io.stdout.write(text)
          return 0
        }
        await writeFile(out, text)
        io.print({ file: out, event_id: eventId }, `${shownText(out)}\n`)
        io.note(`Check it on any machine: npm run bursar -- audit check ${out} --key ${publicKeyFile}`)
        return 0
      })
    },
  }
}

/** The only command without settings: it must run where Bursar is not installed. */
export function checkCommand(): CliCommand {
  return {
    name: 'audit check',
    summary: 'verify a proof offline with the public key',
    details:
      'Uses no database and no network. It trusts only the public key: get the key from a source that you trust, not from the sender of the\n' +
      `proof. Without --key it only compares the proof with the file ${PUBLIC_KEY_NAME} beside it, which anybody can make: exit code 1.`,
    arguments: [{ name: '<file>', description: 'file with the proof' }],
    options: [{ flags: '--key <file|text>', description: 'public key of the auditor, or a file with it' }],
    async run({ arguments: [file = ''], options }, io) {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        if (isMissing(error)) throw new BadInput(`The file ${file} does not exist.`)
        throw error
      })
      const beside = join(dirname(file), PUBLIC_KEY_NAME)
      const verifier = await readVerifier(String(options.key ?? beside)).catch((error: unknown) => {
        if (isMissing(error)) throw new BadInput(`The public key ${options.key ?? beside} does not exist: set --key.`)
        throw error
      })
      const check = checkProof(text, verifier)
      if (!check.ok) {
        io.print({ ok: false, reason: check.reason }, `${shownText(file)} ${shownText(check.reason)}.\n`)
        return 1
      }
      return tellProof(check, verifier, options.key === undefined ? beside : null, io)
    },
  }
}

/** @param unnamed the file of the key, when the operator has not named it: the sender of a proof can send a key too */
function tellProof(
  { proof, checkpoint, hash }: Extract<ProofCheck, { ok: true }>,
  verifier: NoteVerifier,
  unnamed: string | null,
  io: CliIo,
): ExitCode {
  const reason = unnamed === null ? null : `is signed by a key that you have not named, that of ${unnamed}`
  const value = {
    ok: reason === null,
    ...(reason === null ? {} : { reason }),
    event_id: proof.event_id,
    type: proof.event.type,
    recorded_at: proof.event.recorded_at,
    hash,
    leaf_index: proof.leaf_index,
    origin: checkpoint.origin,
    size: checkpoint.size,
    key: verifier.encoded,
  }
  const { event_id, type, recorded_at, leaf_index, size, origin, key } = shown(value)
  const place = `${event_id} (${type}, ${recorded_at}) is event ${leaf_index} of the first ${size} events of ${origin}`
  io.print(
    value,
    reason === null
      ? `Proved: ${place}.\nTrusted key: ${key}.\n`
      : `Not proved. The file says that ${place}, and ${shownText(reason)}: ${key}.\nName the key of the auditor, from a source that you trust: --key.\n`,
  )
  return reason === null ? 0 : 1
}
