/** `rebuild`: rebuilds read models beside the live ones and swaps them. */
import { BadInput, type CliCommand, type CliInput, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import type { TableDeclaration } from '../core/declaration.ts'
import type { ReadModel, Table } from '../core/registry.ts'
import { rebuild } from '../event-log/rebuild.ts'
import type { ReplayContext } from './replay-context.ts'
import { count, heldText, progressOf, rowsTable } from './show.ts'

type Tables = Readonly<Record<Table, TableDeclaration>>

/** @param tables every table */
export function rebuildCommand(within: Within<ReplayContext>, tables: Tables): CliCommand {
  return {
    name: 'rebuild',
    summary: 'rebuild one or all read models from the log while the service runs',
    details:
      'Fills a new table beside the live one, adds the events that are appended meanwhile, and swaps the tables in one commit.\n' +
      'If it is killed, the live tables are unchanged: run it again. The rows of a stream with an event that cannot be read are those\n' +
      'before it: each such stream is named, and the exit code is 1.\n\n' +
      `Read models: ${readModelsIn(tables).join(', ')}\n\n` +
      'Examples: rebuild transactions\n' +
      '          rebuild --all',
    arguments: [{ name: '[read-model]', description: 'the table to rebuild' }],
    options: [{ flags: '--all', description: 'every read model' }],
    run: (input, io) => {
      const chosen = chooseTables(tables, input)
      return within((ctx) => run(ctx, chosen, io))
    },
  }
}

function readModelsIn(tables: Tables): readonly ReadModel[] {
  const names = Object.entries(tables).flatMap(([name, table]) => ('follows' in table ? [name as ReadModel] : []))
  return names.sort()
}

function chooseTables(tables: Tables, { arguments: [name], options }: CliInput): readonly ReadModel[] {
  const all = readModelsIn(tables)
  if ((options.all === true) !== (name === undefined))
    throw new BadInput('rebuild needs the name of a read model, or --all.')
  if (name === undefined) return all
  const chosen = all.filter((one) => one === name)
  if (chosen.length > 0) return chosen
  const known = Object.entries(tables).find(([table]) => table === name)?.[1]
  if (known && 'beside' in known)
    throw new BadInput(`${name} does not follow from the log (${known.beside}): it cannot be rebuilt.`)
  throw new BadInput(`Unknown read model ${name}. Use one of: ${all.join(', ')}.`)
}

async function run({ pool, contents }: ReplayContext, tables: readonly ReadModel[], io: CliIo): Promise<ExitCode> {
  const progress = progressOf(io, 'events')
  const rebuilt = await rebuild(pool, contents, { tables, onProgress: progress.at }).finally(progress.end)
  const { events, streams, caughtUp, rows, longestSwapMs } = rebuilt
  const read = `${count(events)} events of ${count(streams)} streams, and ${count(caughtUp)} that were appended meanwhile`
  const locked = `A table was locked for at most ${Math.ceil(longestSwapMs)} ms.`
  io.print(rebuilt, `${read}\n\n${rowsTable(io, rows)}\n${locked}\n${heldText(io, rebuilt)}`)
  return rebuilt.heldStreams > 0 ? 1 : 0
}
