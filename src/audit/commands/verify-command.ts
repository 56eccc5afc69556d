/** `audit verify`: recomputes the whole log and compares it with everything that was signed. Changes nothing. */
import { readFile } from 'node:fs/promises'
import { BadInput, type CliCommand, type CliIo, type Within } from '../../cli/command.ts'
import { isMissing } from '../../keys/private-files.ts'
import { type AnchorChain, anchoredCheckpoints } from '../anchor/anchored-checkpoints.ts'
import { readVerifier } from '../checkpoints/audit-key.ts'
import { notesIn } from '../checkpoints/checkpoint-file.ts'
import { createCheckpointRows } from '../checkpoints/checkpoint-rows.ts'
import { keyHistory } from '../note/key-history.ts'
import type { CheckedModel } from '../verify/compare-rows.ts'
import type { LogVerdict } from '../verify/judge.ts'
import { knownCheckpoints } from '../verify/known-checkpoints.ts'
import { createVerifyLog, DEFAULT_THREADS } from '../verify/verify-log.ts'

export type VerifyPorts = {
  readonly databaseUrl: string
  readonly publicKeyFile: string
  readonly checkpointFile: string
  /** Chains that are searched for anchors. */
  readonly chains: readonly AnchorChain[]
  /** Read models that are compared with the log. */
  readonly models: readonly CheckedModel[]
}

const MAX_THREADS = 16

export function verifyCommand(within: Within<VerifyPorts>): CliCommand {
  return {
    name: 'audit verify',
    summary: 'recompute hash chains, tree and roots of the whole log, and compare the rows that money depends on',
    details:
      'Reads one snapshot of the log while the service runs on, and changes nothing. It finds an event that was changed, removed, inserted\n' +
      'or put out of order, a tail that was cut off, and a history that was written anew behind a checkpoint. In a log that\n' +
      'is whole it finds each row of wallets, mpc_keys, api_keys and assets that differs from it. Exit code 1 with a line for each\n' +
      'says what is wrong. Keep the key and the checkpoints on another machine, and give them here: docs/audit.md.',
    options: [
      {
        flags: '--key <file|text>',
        description:
          'the public key that checkpoints must be signed with; the installation’s own unless given. A key that it was handed over from\n' +
          'or to counts too, for the checkpoints of its time',
      },
      { flags: '--checkpoints <file>', description: 'the file of checkpoints; AUDIT_CHECKPOINT_FILE unless given' },
      {
        flags: '--anchors <hashes>',
        description: 'anchoring transactions that you kept elsewhere, between commas, beside those that the log knows',
      },
      {
        flags: '--threads <number>',
        description: `threads that compute hashes, 1 to ${MAX_THREADS}; as many as there are processors, at most ${DEFAULT_THREADS}, unless given`,
      },
    ],
    run: ({ options }, io) =>
      within(async (ports) => {
        const threads = threadsOf(options.threads)
        const path = typeof options.checkpoints === 'string' ? options.checkpoints : ports.checkpointFile
        const notes = notesIn(await textOf(path, options.checkpoints === undefined))
        const verify = createVerifyLog({ connectionString: ports.databaseUrl, threads, models: ports.models })
        const startedAt = performance.now()
        const watch = createWatch(io)
        const verdict = await verify(async (database) => {
          const verifier = await readVerifier(String(options.key ?? ports.publicKeyFile)).catch((error: unknown) => {
            if (isMissing(error))
              throw new BadInput(
                `${options.key ?? ports.publicKeyFile} is missing: give the public key of the auditor with --key.`,
              )
            throw error
          })
          const keys = keyHistory(verifier, [...(await createCheckpointRows(database).rotations()), ...notes])
          const kept = typeof options.anchors === 'string' ? options.anchors.split(',') : []
          const { checkpoints, unasked } = await anchoredCheckpoints(database, ports.chains, kept, keys)
          for (const hash of unasked) io.note(`The anchor ${hash} was not looked at: no node of its chain answers.`)
          return [...(await knownCheckpoints(database, { path, notes }, keys)), ...checkpoints]
        }, watch).finally(watch.end)
        return tell(verdict, io, (performance.now() - startedAt) / 1_000)
      }),
  }
}

function createWatch(io: CliIo) {
  let progress: ReturnType<CliIo['progress']> | null = null
  return {
    onStart: (estimate: number) => {
      progress = io.progress({ unit: 'events', total: estimate > 0 ? estimate : null })
    },
    onProgress: (events: number) => progress?.at(events),
    end: () => progress?.end(),
  }
}

function threadsOf(text: unknown): number | null {
  if (text === undefined) return null
  const threads = Number(text)
  if (/^\d{1,2}$/.test(String(text)) && threads >= 1 && threads <= MAX_THREADS) return threads
  throw new BadInput(`--threads must be a whole number from 1 to ${MAX_THREADS}, not "${text}".`)
}

/** The default file may not exist yet; a file given as an option must exist. */
async function textOf(path: string, mayBeMissing: boolean): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (mayBeMissing && isMissing(error)) return ''
    if (isMissing(error)) throw new BadInput(`--checkpoints: there is no file ${path}.`)
    throw error
  })
}

function tell({ events, root, checkpoints, finding, rows }: LogVerdict, io: CliIo, seconds: number): 0 | 1 {
  const rate = Math.round(events / Math.max(seconds, 0.001))
  const value = {
    ok: finding === null,
    events,
    root: root.toString('base64'),
    checkpoints,
    seconds: Number(seconds.toFixed(3)),
    events_per_second: rate,
    rows: rows.rows,
    row_differences: rows.differences,
    finding:
      finding === null
        ? null
        : {
            kind: finding.kind,
            message: finding.message,
            position: finding.position,
            stream_id: finding.streamId,
            stream_version: finding.streamVersion,
          },
  }
  const unsigned = checkpoints === 0 ? ' Nothing was signed yet, so a tail that is gone cannot be seen.' : ''
  const text =
    finding === null
      ? `The log is whole: ${events} events, root ${root.toString('base64')}, ${checkpoints} checkpoints agree, and ${rows.rows} rows of read models (${seconds.toFixed(1)} s, ${rate} events a second).${unsigned}\n`
      : `${finding.kind === 'row_differs' ? lines(rows) : finding.message}\n`
  io.print(value, text)
  return finding === null ? 0 : 1
}

function lines({ differences }: LogVerdict['rows']): string {
  return differences.map(({ message }) => message).join('\n')
}
