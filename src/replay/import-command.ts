/** `import`: makes a log and its read models of a whole export, in an empty database. */
import { createReadStream } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { BadInput, type CliCommand, type CliInput, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { importLog } from '../event-log/import-log.ts'
import type { ReplayPorts } from './ports.ts'
import { count, progressOf, rowsTable } from './show.ts'

export function importCommand(within: Within<ReplayPorts>): CliCommand {
  return {
    name: 'import',
    summary: 'make a log and all its read models of a whole export, in an empty database',
    details:
      'The database has its schema (npm run migrate) and no rows, and nothing runs on it yet. All of the file is taken, or nothing.\n' +
      'The file is compared with the digest at its end; with --verify each stream is also checked against its hash chain.\n\n' +
      'Example: import bursar.jsonl --verify',
    arguments: [{ name: '<file>', description: 'what export wrote; - for standard input' }],
    options: [{ flags: '--verify', description: "check every event's hash" }],
    run: (input, io) => within((ports) => run(ports, input, io)),
  }
}

async function run(
  { pool, aggregates }: ReplayPorts,
  { arguments: [file = '-'], options }: CliInput,
  io: CliIo,
): Promise<ExitCode> {
  if (file !== '-') await requireReadable(file)
  const progress = progressOf(io, 'events')
  const onProgress = (events: number) => progress.at(events, null)
  const verify = options.verify === true
  const imported = await importLog(pool, aggregates, linesOf(file), { verify, onProgress }).finally(progress.end)
  const { events, streams, rows } = imported
  const checked = verify ? ', every hash chain checked' : ''
  io.print(
    imported,
    `${count(events)} events of ${count(streams)} streams imported${checked}\n\n${rowsTable(io, rows)}`,
  )
  return 0
}

/** Opened when the first line is asked for: a reader of lines that runs ahead of its reader loses them. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
}

async function requireReadable(file: string): Promise<void> {
  await access(file, constants.R_OK).catch(() => {
    throw new BadInput(`There is no file ${file} that can be read.`)
  })
}
