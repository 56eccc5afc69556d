/** `rebuild`: rebuilds read models beside the live ones and swaps them. */
import { BadInput, type CliCommand, type CliInput, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { isReadModel, READ_MODEL_NAMES, type ReadModel, TABLES } from '../declarations.ts'
import { rebuild } from '../event-log/rebuild.ts'
import type { ReplayPorts } from './ports.ts'
import { count, progressOf, rowsTable } from './show.ts'

export function rebuildCommand(within: Within<ReplayPorts>): CliCommand {
  return {
    name: 'rebuild',
    summary: 'make a read model, or all of them, again from the log while the service runs',
    details:
      'The new table is made beside the live one, catches up with what is appended meanwhile, and takes its place in one commit.\n' +
      'Killed at any moment it leaves the live tables whole; start it again.\n\n' +
      `Read models: ${READ_MODEL_NAMES.join(', ')}\n\n` +
      'Examples: rebuild transactions\n' +
      '          rebuild --all',
    arguments: [{ name: '[read-model]', description: 'the table to make again' }],
    options: [{ flags: '--all', description: 'every read model' }],
    run: (input, io) => {
      const tables = tablesOf(input)
      return within((ports) => run(ports, tables, io))
    },
  }
}

function tablesOf({ arguments: [name], options }: CliInput): readonly ReadModel[] {
  const all = options.all === true
  if (all !== (name === undefined)) throw new BadInput('rebuild takes either the name of a read model or --all.')
  if (name === undefined) return READ_MODEL_NAMES
  if (isReadModel(name)) return [name]
  const known = Object.entries(TABLES).find(([table]) => table === name)?.[1]
  if (known && 'beside' in known)
    throw new BadInput(`${name} does not follow from the log (${known.beside}): it cannot be rebuilt.`)
  throw new BadInput(`There is no read model ${name}. There are: ${READ_MODEL_NAMES.join(', ')}.`)
}

async function run({ pool, aggregates }: ReplayPorts, tables: readonly ReadModel[], io: CliIo): Promise<ExitCode> {
  const progress = progressOf(io, 'events')
  const rebuilt = await rebuild(pool, aggregates, { tables, onProgress: progress.at }).finally(progress.end)
  const { events, streams, caughtUp, rows, longestSwapMs } = rebuilt
  const read = `${count(events)} events of ${count(streams)} streams, and ${count(caughtUp)} that were appended meanwhile`
  const locked = `A table was locked for ${Math.ceil(longestSwapMs)} ms at most.`
  io.print(rebuilt, `${read}\n\n${rowsTable(io, rows)}\n${locked}\n`)
  return 0
}
