/** Does the same for many things, a few at a time. */

/**
 * Acts on every item. The first failure ends what is under way, leaves the rest undone, and is thrown once all has ended.
 *
 * @param atOnce how many actions run beside each other
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
