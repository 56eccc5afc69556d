/** `import`: creates a log and its read models from a full export, in an empty database. */
import { createReadStream } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { BadInput, type CliCommand, type CliInput, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { textOf } from '../cli/option-values.ts'
import { linesOfExport } from '../event-log/export-lines.ts'
import { type ImportEvidence, type Imported, importLog } from '../event-log/import-log.ts'
import { MOST_ALLOWED, MOST_LEFT_OUT, type PositionGaps } from '../event-log/position-gaps.ts'
import type { ReplayContext } from './replay-context.ts'
import { count, progressOf, rowsTable } from './show.ts'

/** Evidence for an import: checkpoints of the log, signed by a key that the operator vouches for. */
export type SignedEvidence = ImportEvidence & {
  /** The number of checkpoints, and of events that the newest covers. */
  readonly checkpoints: number
  readonly size: number
  /** What the operator must know about the file; `null` for nothing. */
  readonly remark: string | null
}

/** @throws BadInput for a missing file, and for one without a valid checkpoint; TreeDamaged for a checkpoint that the key did not sign */
type OpenEvidence = (checkpointFile: string, key: string) => Promise<SignedEvidence>

/** @param openEvidence null refuses every import that asks for evidence */
export function importCommand(within: Within<ReplayContext>, openEvidence: OpenEvidence | null): CliCommand {
  return {
    name: 'import',
    summary: 'import a full export into an empty database: the log and all read models',
    details:
      'The database must have its schema (npm run migrate) and no rows, and no process may use it. Imports the whole file or nothing.\n' +
      'Compares the file with the digest at its end, which detects damage but not forgery. With --verify\n' +
      'also checks the hash chain of each stream. With --checkpoints and --key also checks that the auditor signed this log:\n' +
      'at the size of every checkpoint its Merkle root must equal the signed one (docs/audit.md). This includes --verify.\n\n' +
      'Example: import bursar.jsonl --checkpoints checkpoints --key audit.key.pub',
    arguments: [{ name: '<file>', description: 'the exported file; - for standard input' }],
    options: [
      { flags: '--verify', description: 'check the hash of every event' },
      {
        flags: '--checkpoints <file>',
        description: 'checkpoints of the log, from AUDIT_CHECKPOINT_FILE of its auditor',
      },
      { flags: '--key <file|text>', description: 'the public key of the checkpoints' },
      {
        flags: '--allow-gaps <number>',
        description: `the most positions that two events may leave out between them, to ${MOST_ALLOWED}; the default is ${MOST_LEFT_OUT}`,
      },
    ],
    run: (input, io) => within((ctx) => run(ctx, openEvidence, input, io)),
  }
}

async function run(
  { pool, contents }: ReplayContext,
  openEvidence: OpenEvidence | null,
  { arguments: [file = '-'], options }: CliInput,
  io: CliIo,
): Promise<ExitCode> {
  if (file !== '-') await requireReadable(file)
  const allowedGap = allowedGapOf(textOf(options.allowGaps))
  const evidence = await evidenceOf(openEvidence, textOf(options.checkpoints), textOf(options.key))
  const progress = progressOf(io, 'events')
  const settings = {
    // A signed root vouches for the hashes of events; only checking the chains shows that they match the contents.
    verify: options.verify === true || evidence !== null,
    allowedGap,
    onProgress: (events: number) => progress.at(events, null),
    ...(evidence === null ? {} : { evidence }),
  }
  const imported = await importLog(pool, contents, linesOf(file), settings).finally(progress.end)
  const { events, streams, rows, carried, gaps } = imported
  const cursors = cursorsOf(carried)
  const checked = settings.verify ? ', every hash chain checked' : ''
  io.print(
    {
      events,
      streams,
      rows,
      checkpoints: evidence?.checkpoints ?? 0,
      signed_events: evidence?.size ?? 0,
      unproved_rows: carried.length,
      cursors,
      position_gaps: gaps.gaps,
      positions_left_out: gaps.positions.toString(),
    },
    `${count(events)} events of ${count(streams)} streams imported${checked}\n\n${rowsTable(io, rows)}`,
  )
  if (evidence !== null && evidence.remark !== null) io.note(evidence.remark)
  io.note(proofOf(evidence, events))
  const unproved = unprovedOf(carried.length, cursors)
  if (unproved !== null) io.note(unproved)
  if (gaps.gaps > 0) io.note(leftOutOf(gaps))
  return 0
}

async function evidenceOf(
  openEvidence: OpenEvidence | null,
  checkpoints: string | undefined,
  key: string | undefined,
): Promise<SignedEvidence | null> {
  if (checkpoints === undefined && key === undefined) return null
  if (openEvidence === null) throw new BadInput('--checkpoints: this program has no audit, and cannot check them.')
  if (checkpoints !== undefined && key !== undefined) return openEvidence(checkpoints, key)
  throw new BadInput(
    '--checkpoints and --key must be given together: the checkpoints and the public key that signed them.',
  )
}

function allowedGapOf(text: string | undefined): number {
  if (text === undefined) return MOST_LEFT_OUT
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= MOST_ALLOWED) return Number(text)
  throw new BadInput(`--allow-gaps must be a whole number from 1 to ${MOST_ALLOWED}.`)
}

/** A position is in no hash. */
function leftOutOf({ gaps, positions }: PositionGaps): string {
  return `${count(positions)} positions in ${count(gaps)} gaps belong to no event. Appends that the database refused leave them out, and so does an event that was removed: only checkpoints prove that none was.`
}

/** What the checkpoints prove about the file, and what they do not. */
function proofOf(evidence: SignedEvidence | null, events: number): string {
  if (evidence === null) {
    return 'The origin of this file is not verified: use --checkpoints and --key of its auditor to verify it.'
  }
  const { checkpoints, size } = evidence
  const rest = events === size ? '' : ` The ${count(events - size)} events after them are not verified.`
  return `${count(checkpoints)} signed checkpoints agree with the first ${count(size)} events.${rest}`
}

/** Where the follower of a chain goes on. */
type CarriedCursor = { readonly chain_id: string; readonly block: string }

/** The database has accepted these rows: both values are numbers. */
function cursorsOf(carried: Imported['carried']): readonly CarriedCursor[] {
  return carried.flatMap(({ table, row }) =>
    table === 'chain_cursors' ? [{ chain_id: String(row.chain_id), block: String(row.number) }] : [],
  )
}

/** Rows beside the log are in no event, so that no checkpoint covers them. */
function unprovedOf(carried: number, cursors: readonly CarriedCursor[]): string | null {
  if (carried === 0) return null
  const places = cursors.map(({ chain_id: chainId, block }) => `chain ${chainId} at block ${block}`).join(', ')
  const where =
    places === '' ? '' : ` The followers go on from ${places}: compare these blocks with those of the old installation.`
  return `${count(carried)} rows of cursors and block hashes are not proved by any checkpoint.${where} A deposit in a block that a wrong cursor skips is not recorded.`
}

function linesOf(file: string): AsyncGenerator<string> {
  return linesOfExport(file === '-' ? process.stdin : createReadStream(file))
}

async function requireReadable(file: string): Promise<void> {
  await access(file, constants.R_OK).catch(() => {
    throw new BadInput(`Cannot read the file ${file}.`)
  })
}

declare module '../capability.ts' {
  interface Capability {
    /** Opens what an operator has of a signed log, for `import`. One capability does. */
    readonly openEvidence?: OpenEvidence
  }
}
