/** `export`: writes the log as JSON Lines, to standard output or a file. */
import { once } from 'node:events'
import { open, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { BadInput, type CliCommand, type CliInput, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { textOf } from '../cli/option-values.ts'
import { shownText } from '../cli/printed.ts'
import type { ExportFooter } from '../event-log/export-format.ts'
import { type ExportSettings, exportLog } from '../event-log/export-log.ts'
import { readPlace } from './place.ts'
import type { ReplayContext } from './replay-context.ts'
import { count, progressOf } from './show.ts'

export function exportCommand(within: Within<ReplayContext>): CliCommand {
  return {
    name: 'export',
    summary: 'export the log as JSON Lines with its hashes',
    details:
      'Exports one snapshot of the log in reading order, while the service runs; changes nothing. The last line has a digest of the file.\n' +
      'A partial export (--from, --to, --tenant) is only for reading: import needs a full export.\n\n' +
      'Examples: export --out bursar.jsonl\n' +
      '          export --tenant acme --from 2026-01-01T00:00:00Z | gzip > acme.jsonl.gz',
    options: [
      { flags: '--from <position|time>', description: 'start at this position or time' },
      { flags: '--to <position|time>', description: 'end at this position or time, both included' },
      { flags: '--tenant <name>', description: 'only events of this tenant' },
      {
        flags: '--out <file>',
        description: 'the new file, which appears when it is complete; default: standard output',
      },
    ],
    run: (input, io) => within((ports) => run(ports, input, io)),
  }
}

type Write = (lines: string) => Promise<void>

async function run({ pool, clock }: ReplayContext, { options }: CliInput, io: CliIo): Promise<ExitCode> {
  const [from, to, tenant, out] = [options.from, options.to, options.tenant, options.out].map(textOf)
  const progress = progressOf(io, 'events')
  let total = 0
  let done = 0
  const settings: ExportSettings = {
    ...(from === undefined ? {} : { from: readPlace('--from', from, clock()) }),
    ...(to === undefined ? {} : { to: readPlace('--to', to, clock()) }),
    ...(tenant === undefined ? {} : { tenant }),
    onTotal: (events) => {
      total = events
    },
  }
  const exportTo = (write: Write) =>
    exportLog(pool, settings, async (lines, events) => {
      await write(lines)
      done += events
      progress.at(done, total)
    }).finally(progress.end)
  if (out === undefined) {
    const footer = await exportTo((lines) => writeTo(io.stdout, lines))
    io.note(told(footer))
    return 0
  }
  const footer = await writeFile(out, exportTo)
  io.print({ ...footer, file: out }, `${told(footer)}: ${shownText(out)}\n`)
  return 0
}

function told({ events, sha256 }: ExportFooter): string {
  return `${count(events)} events, SHA-256 ${sha256}`
}

async function writeTo(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain')
}

/** The file appears only when all of it is on disk. */
async function writeFile(path: string, fill: (write: Write) => Promise<ExportFooter>): Promise<ExportFooter> {
  const there = await stat(path).catch(() => null)
  if (there !== null) throw new BadInput(`${path} already exists: use a new file name.`)
  const part = `${path}.part`
  const file = await open(part, 'w', 0o600)
  try {
    const footer = await fill(async (lines) => {
      await file.write(lines)
    })
    await file.sync()
    await file.close()
    await rename(part, path)
    return footer
  } catch (error) {
    await file.close().catch(() => undefined) // It may already be closed.
    await rm(part, { force: true })
    throw error
  }
}
