/** `audit prove` writes the proof of an event; `audit check` verifies it with only the public key. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BadInput, type CliCommand, type ExitCode, type Within } from '../../cli/command.ts'
import { parseEventId } from '../../core/event-ids.ts'
import { isMissing } from '../../keys/private-files.ts'
import { PUBLIC_KEY_NAME, readVerifier } from '../checkpoints/audit-key.ts'
import { checkProof } from '../proof/check-proof.ts'
import { encodeProof } from '../proof/proof-file.ts'
import type { ProveEvent } from '../proof/prove-event.ts'

export type ProvePorts = { readonly proveEvent: ProveEvent; readonly publicKeyFile: string }

export function proveCommand(within: Within<ProvePorts>): CliCommand {
  return {
    name: 'audit prove',
    summary: 'write a file that proves an event to anybody who has the public key',
    details:
      'The id of an event is evt_<stream>.<version>, such as evt_wallet-wal_0197….1. The file holds the event, its place, its path to the root and\n' +
      'the signed checkpoint. Exit code 1 when no checkpoint covers the event yet: take one with audit checkpoint.',
    arguments: [{ name: '<event_id>', description: 'the event' }],
    options: [
      {
        flags: '--out <file>',
        description: 'where to write it; <event_id>.proof.json here unless given; - for standard output',
      },
    ],
    run: ({ arguments: [eventId = ''], options }, io) => {
      if (parseEventId(eventId) === undefined) {
        throw new BadInput(
          `${JSON.stringify(eventId)} is not the id of an event: it must be evt_<stream>.<version>, such as evt_wallet-wal_0197….1.`,
        )
      }
      return within<ExitCode>(async ({ proveEvent, publicKeyFile }) => {
        const text = encodeProof(await proveEvent(eventId, null))
        const out = typeof options.out === 'string' ? options.out : `${eventId.replaceAll(/[^\w.-]/g, '_')}.proof.json`
        if (out === '-') {
          io.stdout.write(text)
          return 0
        }
        await writeFile(out, text)
        io.print({ file: out, event_id: eventId }, `${out}\n`)
        io.note(`Check it anywhere: npm run bursar -- audit check ${out} --key ${publicKeyFile}`)
        return 0
      })
    },
  }
}

/** The only command without settings: it must run where Bursar is not installed. */
export function checkCommand(): CliCommand {
  return {
    name: 'audit check',
    summary: 'verify a proof offline, with nothing but the public key',
    details:
      'Speaks to no database and no network. What it trusts is the public key alone: get that from whom you trust, not from whom gave you the\n' +
      `proof. Without --key it takes the file ${PUBLIC_KEY_NAME} beside the proof.`,
    arguments: [{ name: '<file>', description: 'the proof' }],
    options: [{ flags: '--key <file|text>', description: 'the public key of the auditor, or the file that holds it' }],
    async run({ arguments: [file = ''], options }, io) {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        if (isMissing(error)) throw new BadInput(`There is no file ${file}.`)
        throw error
      })
      const pinned = join(dirname(file), PUBLIC_KEY_NAME)
      const verifier = await readVerifier(String(options.key ?? pinned)).catch((error: unknown) => {
        if (isMissing(error)) throw new BadInput(`There is no public key ${options.key ?? pinned}: give it with --key.`)
        throw error
      })
      const check = checkProof(text, verifier)
      if (!check.ok) {
        io.print({ ok: false, reason: check.reason }, `${file} ${check.reason}.\n`)
        return 1
      }
      const { proof, checkpoint, hash } = check
      const value = {
        ok: true,
        event_id: proof.event_id,
        type: proof.event.type,
        recorded_at: proof.event.recorded_at,
        hash,
        leaf_index: proof.leaf_index,
        origin: checkpoint.origin,
        size: checkpoint.size,
        key: verifier.encoded,
      }
      io.print(
        value,
        `Proved: ${proof.event_id} (${proof.event.type}, ${proof.event.recorded_at}) is event ${proof.leaf_index} of the first ${checkpoint.size} events of ${checkpoint.origin}.\n` +
          `Trusted for it: the key ${verifier.encoded}${options.key === undefined ? ` of ${pinned}` : ''}, and nothing else.\n`,
      )
      return 0
    },
  }
}
