/** Runs an action for many items with limited concurrency. */

/**
 * Runs the action for every item. The first failure aborts the running actions, skips the rest, and is thrown after all
 * have ended.
 *
 * @param atOnce maximum concurrent actions
 * @param act must reject when its signal has aborted
 */
export async function actAtOnce<Item>(
  items: readonly Item[],
  atOnce: number,
  act: (item: Item, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  const failures: unknown[] = []
  const queue = items.values()
  async function work(): Promise<void> {
    for (const item of queue) {
      if (stop.signal.aborted) return
      try {
        await act(item, both)
      } catch (error) {
        failures.push(error)
        stop.abort()
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
  if (failures.length > 0) throw failures[0]
}
