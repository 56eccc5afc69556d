/**
 * Detects values that have not changed for too long, by repeated observation: it does not read the time of day, so
 * setting a clock has no effect.
 */

/**
 * Takes the current values, each with a mark that changes on progress; returns the names of those that stood still too
 * long.
 */
export type Standstill = (seen: ReadonlyMap<string, string>) => readonly string[]

/**
 * @param limitMs from the first call that shows a mark to the call that reports it
 * @param timer a monotonic clock, ms
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
