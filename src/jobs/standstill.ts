/**
 * Tells what has not moved for longer than it may, by being looked at again and again: no time of day is asked, so that a
 * clock that was set deceives nobody.
 */

/** Takes what there is now, each with a mark that changes when it moves; returns the names of those that stood still too long. */
export type Standstill = (seen: ReadonlyMap<string, string>) => readonly string[]

/**
 * @param limitMs from the first look that shows a mark to the look that tells of it
 * @param timer a clock that is never set, ms
 */
export function createStandstill(limitMs: number, timer: () => number = () => performance.now()): Standstill {
  let known = new Map<string, { readonly mark: string; readonly since: number }>()
  return (seen) => {
    const now = timer()
    known = new Map(
      [...seen].map(([name, mark]) => {
        const before = known.get(name)
        return [name, before?.mark === mark ? before : { mark, since: now }]
      }),
    )
    return [...known].filter(([, { since }]) => now - since > limitMs).map(([name]) => name)
  }
}
