/**
 * A journal of what a party granted and still counts. Calls take turns, and the file is rewritten when most of its lines are stale.
 * What counts, and for how long, is up to its user.
 */
import type { Static, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { damaged, type JournalFile, openJournalFile } from './journal-file.ts'

/** With fewer lines the file is not rewritten. */
export const MIN_LINES = 1_000

/** What every count of a party offers. */
export type Counted = Pick<JournalFile, 'check' | 'damage'> & {
  /** Resolves when earlier calls are finished. */
  readonly close: () => Promise<void>
}

export type CountingJournal<Line> = Counted & {
  readonly lines: () => number
  /** Runs a task when earlier ones have ended, whether they succeeded or failed. */
  readonly inTurn: <Result>(task: () => Promise<Result>) => Promise<Result>
  /**
   * Makes a line durable, within `inTurn`.
   *
   * @param counting how many entries count now; @param all a line with these and the new ones, instead of everything before
   * @throws Unavailable `mpc_journal_full`, `mpc_journal_failed` or `mpc_journal_damaged`
   */
  readonly record: (line: Line, counting: number, all: () => Line) => Promise<void>
}

/**
 * @returns the journal, and its records
 * @throws Unavailable `mpc_journal_damaged`, also for a line that does not fit the schema
 */
export async function openCountingJournal<Schema extends TSchema>(
  path: string,
  schema: Schema,
): Promise<{ readonly journal: CountingJournal<Static<Schema>>; readonly records: readonly Static<Schema>[] }> {
  const { file, records } = await openJournalFile(path)
  const wrong = records.findIndex((record) => !Value.Check(schema, record))
  if (wrong !== -1) {
    await file.close()
    throw damaged(path, wrong + 1)
  }
  let lines = records.length
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }

  const journal: CountingJournal<Static<Schema>> = {
    lines: () => lines,
    inTurn,
    async record(line, counting, all) {
      if (lines >= MIN_LINES && lines > 2 * counting) {
        await file.rewrite(all())
        lines = 1
      } else {
        await file.append(line)
        lines += 1
      }
    },
    damage: file.damage,
    check: () => inTurn(file.check),
    async close() {
      await last
      await file.close()
    },
  }
  return { journal, records: records as Static<Schema>[] }
}
