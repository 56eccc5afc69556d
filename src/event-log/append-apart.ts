/**
 * Appends changes of different streams that do not need each other. One that the database cannot hold (SQLSTATE class 22: text
 * or a number out of range) is set aside, and the others are appended.
 */
import type { Change } from './aggregate.ts'
import type { Guards } from './commit.ts'
import { isDataError } from './database-errors.ts'
import type { EventLog } from './log.ts'

/** Called for each change that the database cannot hold: a defect, which somebody must look at. */
export type OnSetAside = (streamId: string, error: unknown) => void

/**
 * @returns how many changes were appended
 * @throws what `EventLog.append` throws for anything else
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
