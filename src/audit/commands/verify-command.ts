/** `audit verify`: recomputes the whole log and compares it with everything that was signed. Changes nothing. */
import { readFile } from 'node:fs/promises'
import { BadInput, type CliCommand, type CliIo, type Within } from '../../cli/command.ts'
import { shown, shownText } from '../../cli/printed.ts'
import type { AnyAggregate, CheckedModel } from '../../event-log/fold.ts'
import { isMissing } from '../../keys/private-files.ts'
import { type AnchorChain, anchoredCheckpoints } from '../anchor/anchored-checkpoints.ts'
import { readVerifier } from '../checkpoints/audit-key.ts'
import { createCheckpointRows } from '../checkpoints/checkpoint-rows.ts'
import { keyHistory } from '../note/key-history.ts'
import type { Finding, LogVerdict } from '../verify/judge.ts'
import {
  type CheckpointsOfFile,
  checkpointsIn,
  knownCheckpoints,
  requireEvidence,
} from '../verify/known-checkpoints.ts'
import { DEFAULT_THREADS, verifyLog } from '../verify/verify-log.ts'

const MAX_THREADS = 16

export function verifyCommand(
  within: Within<{
    readonly databaseUrl: string
    readonly publicKeyFile: string
    readonly checkpointFile: string
    /** Whether a setting names that file: then it must be evidence once a checkpoint was signed. */
    readonly isCheckpointFileNamed?: boolean
    /** Chains that are searched for anchors. */
    readonly chains: readonly AnchorChain[]
    /** Read models that are compared with the log. */
    readonly models: readonly CheckedModel[]
    /** Every aggregate whose streams the log holds. */
    readonly aggregates: readonly AnyAggregate[]
  }>,
): CliCommand {
  return {
    name: 'audit verify',
    summary:
      'recompute the hash chains, the tree and the roots of the whole log, and compare the read models of wallets, keys and assets with it',
    details:
      'Reads one snapshot of the log and changes nothing. The service can keep running. It finds events that were changed, removed, inserted\n' +
      'or reordered, events that cannot be read, a truncated log, a history that was rewritten after a checkpoint was signed, and\n' +
      'each row of wallets, mpc_keys, api_keys and assets that differs from the log. It describes every problem, up to 100, and then\n' +
      'exits with code 1. Events that an operator has set aside (audit set-aside) are listed and are no problem. Keep copies of the key and the checkpoints on another machine, and pass them as options: docs/audit.md.',
    options: [
      {
        flags: '--key <file|text>',
        description:
          'public key that checkpoints must be signed with; the default is the key of this installation. Earlier and later keys\n' +
          'of a rotation are valid for the checkpoints that they signed',
      },
      { flags: '--checkpoints <file>', description: 'checkpoint file; the default is AUDIT_CHECKPOINT_FILE' },
      {
        flags: '--anchors <hashes>',
        description: 'comma-separated hashes of anchor transactions, in addition to those in the log',
      },
      {
        flags: '--threads <number>',
        description: `threads that compute hashes, 1 to ${MAX_THREADS}; the default is the number of processors, at most ${DEFAULT_THREADS}`,
      },
    ],
    run: ({ options }, io) =>
      within(async (ports) => {
        const threads = threadsOf(options.threads)
        const isNamed = typeof options.checkpoints === 'string'
        const path = isNamed ? String(options.checkpoints) : ports.checkpointFile
        const file = checkpointsIn(path, await textOf(path, !isNamed))
        const settings = { ...ports, connectionString: ports.databaseUrl, threads }
        const startedAt = performance.now()
        const watch = progressOf(io)
        const verdict = await verifyLog(
          settings,
          async (database) => {
            const verifier = await readVerifier(String(options.key ?? ports.publicKeyFile)).catch((error: unknown) => {
              if (isMissing(error))
                throw new BadInput(
                  `${options.key ?? ports.publicKeyFile} is missing: set --key to the public key of the auditor.`,
                )
              throw error
            })
            const keys = keyHistory(verifier, [...(await createCheckpointRows(database).rotations()), ...file.notes])
            // Before the first checkpoint a file that the settings name may be missing.
            const isDue = ports.isCheckpointFileNamed && (await createCheckpointRows(database).newest()) !== null
            if (isNamed || isDue) requireEvidence(isNamed ? '--checkpoints' : 'AUDIT_CHECKPOINT_FILE', file, keys)
            const kept = typeof options.anchors === 'string' ? options.anchors.split(',') : []
            const { checkpoints, unasked } = await anchoredCheckpoints(database, ports.chains, kept, keys)
            for (const hash of unasked)
              io.note(`The anchor transaction ${hash} was not checked, because no node of its chain is available.`)
            return [...(await knownCheckpoints(database, file, keys)), ...checkpoints]
          },
          watch,
        ).finally(watch.end)
        if (file.remark !== null) io.note(file.remark)
        return tell(verdict, file, io, (performance.now() - startedAt) / 1_000)
      }),
  }
}

/** Begins when the number of events is known. */
function progressOf(io: CliIo) {
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
    if (isMissing(error)) throw new BadInput(`--checkpoints: the file ${path} does not exist.`)
    throw error
  })
}

function tell(verdict: LogVerdict, file: CheckpointsOfFile, io: CliIo, seconds: number): 0 | 1 {
  const { events, root, checkpoints, findings, problems, setAside, rows } = verdict
  const [first] = findings
  const rate = Math.round(events / Math.max(seconds, 0.001))
  const value = {
    ok: first === undefined,
    events,
    root: root.toString('base64'),
    checkpoints,
    checkpoints_in_file: file.notes.length,
    seconds: Number(seconds.toFixed(3)),
    events_per_second: rate,
    rows: rows.rows,
    row_differences: rows.differences,
    finding: first === undefined ? null : jsonOf(first),
    findings: findings.map(jsonOf),
    problems,
    set_aside: setAside.map(jsonOf),
  }
  const unsigned = checkpoints === 0 ? ' No checkpoint was signed yet, so a truncated log cannot be detected.' : ''
  const text =
    first === undefined
      ? `The log is intact: ${events} events, root ${root.toString('base64')}, ${checkpoints} checkpoints agree (in ${shownText(file.path)}: ${file.notes.length}), and ${rows.rows} rows of read models (${seconds.toFixed(1)} s, ${rate} events per second).${unsigned}\n`
      : `${shown(findings)
          .map(({ message }) => message)
          .join('\n')}\n`
  const more = problems > findings.length ? `${problems - findings.length} more problems are not listed.\n` : ''
  const aside = shown(setAside)
    .map(({ message }) => `Set aside by an operator: ${message}\n`)
    .join('')
  io.print(value, `${text}${more}${aside}`)
  return first === undefined ? 0 : 1
}

function jsonOf({ kind, message, position, streamId, streamVersion }: Finding) {
  return { kind, message, position, stream_id: streamId, stream_version: streamVersion }
}
