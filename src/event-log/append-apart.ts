/**
 * Appends independent changes of different streams. A change that the database cannot store (SQLSTATE class 22: text or
 * a number out of range) is set aside, and the others are appended.
 */
import type { Change } from './aggregate.ts'
import type { Guards } from './commit.ts'
import { isDataError } from './database-errors.ts'
import type { EventLog } from './log.ts'

/** Called for each change that the database cannot store. This is a defect that must be investigated. */
export type OnSetAside = (streamId: string, error: unknown) => void

/**
 * @returns the number of changes appended
 * @throws any other error of `EventLog.append`
 */
export async function appendApart(
  log: Pick<EventLog, 'append'>,
  changes: readonly Change[],
  { guards, onSetAside }: { readonly guards: Guards; readonly onSetAside: OnSetAside },
): Promise<number> {
  if (changes.length === 0) return 0
  try {
    await log.append({ changes, guards })
    return changes.length
  } catch (error) {
    if (!isDataError(error)) throw error
    const [only] = changes
    if (changes.length === 1) {
      onSetAside(only?.events[0]?.streamId ?? '', error)
      return 0
    }
  }
  const half = Math.ceil(changes.length / 2)
  const first = await appendApart(log, changes.slice(0, half), { guards, onSetAside })
  return first + (await appendApart(log, changes.slice(half), { guards, onSetAside }))
}
