/** `replay`: folds the log into a shadow of every read model and compares both. Changes nothing. */
import { BadInput, type CliCommand, type CliInput, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { textOf } from '../cli/option-values.ts'
import { shown } from '../cli/printed.ts'
import { type Replayed, replay } from '../event-log/replay.ts'
import { readPlace } from './place.ts'
import type { ReplayContext } from './replay-context.ts'
import { count, describe, heldText, progressOf, rowsTable } from './show.ts'

export function replayCommand(within: Within<ReplayContext>): CliCommand {
  return {
    name: 'replay',
    summary: 'compute all read models from the log; with --diff, compare them with the live tables',
    details:
      'Reads one snapshot of the database while the service runs, and changes nothing: it writes to temporary tables.\n' +
      'With --diff prints each difference and exits with 1 if there is any; rebuild <read-model> fixes it. A stream ends before an\n' +
      'event that cannot be read: each is named, and the exit code is 1.\n\n' +
      'Examples: replay --diff\n' +
      '          replay --to 2026-01-31T12:00:00Z\n' +
      '          replay --stream transaction-tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11 --diff',
    options: [
      { flags: '--to <position|time>', description: 'end at this position or time, both included' },
      { flags: '--stream <id>', description: 'only this stream' },
      { flags: '--diff', description: 'compare with the live tables, row by row' },
    ],
    run: (input, io) => within((ports) => run(ports, input, io)),
  }
}

async function run({ pool, contents, clock }: ReplayContext, { options }: CliInput, io: CliIo): Promise<ExitCode> {
  const to = textOf(options.to)
  const streamId = textOf(options.stream)
  const diff = options.diff === true
  if (diff && to !== undefined) {
    throw new BadInput('--diff compares with the live tables, which are at the end of the log: omit --to or --diff.')
  }
  const progress = progressOf(io, 'events')
  const replayed = await replay(pool, contents, {
    ...(to === undefined ? {} : { to: readPlace('--to', to, clock()) }),
    ...(streamId === undefined ? {} : { streamId }),
    ...(diff ? { onDifference: (found) => io.print({ difference: found }, describe(shown(found))) } : {}),
    onProgress: progress.at,
  }).finally(progress.end)
  io.print(summaryOf(replayed, diff), textOfSummary(io, replayed, diff))
  return replayed.differences + replayed.heldStreams > 0 ? 1 : 0
}

function summaryOf({ differences, ...replayed }: Replayed, diff: boolean): unknown {
  return diff ? { ...replayed, differences } : replayed
}

function textOfSummary(io: CliIo, replayed: Replayed, diff: boolean): string {
  const { events, streams, position, rows, differences } = replayed
  const read = `${count(events)} events of ${count(streams)} streams, up to position ${position ?? 'none'}\n\n`
  const found =
    differences === 0
      ? io.paint.green('No differences: the live tables match the log.')
      : io.paint.red(
          `${count(differences)} ${differences === 1 ? 'row differs' : 'rows differ'}: rebuild their read models.`,
        )
  return `${read}${rowsTable(io, rows)}${diff ? `\n${found}\n` : ''}${heldText(io, replayed)}`
}
