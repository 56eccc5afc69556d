/**
 * Bounds the database cost of lookups: few queries at once, each for all waiting names. Clients that guess keys make
 * the queries longer, not more frequent, and a valid key waits for at most two of them.
 */

/** Concurrent queries: more than one, so that a hanging connection does not delay everybody. */
const MAX_QUERIES = 4
/** Default of names in one query: one index lookup each, so a full query takes some milliseconds. */
const MAX_NAMES = 1_000

type Waiting<Found> = {
  readonly name: string
  readonly resolve: (found: Found | undefined) => void
  readonly reject: (reason: unknown) => void
}

/**
 * @param find looks up these names; returns what exists, by name
 * @param maxNames the most names in one query
 * @returns looks up one name; rejects as `find` does
 */
export function batchLookups<Found>(
  find: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>,
  maxNames = MAX_NAMES,
): (name: string) => Promise<Found | undefined> {
  const waiting: Waiting<Found>[] = []
  let underWay = 0

  async function answer(batch: readonly Waiting<Found>[]): Promise<void> {
    try {
      const found = await find(batch.map(({ name }) => name))
      for (const { name, resolve } of batch) resolve(found.get(name))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  async function work(): Promise<void> {
    underWay += 1
    while (waiting.length > 0) await answer(waiting.splice(0, maxNames))
    underWay -= 1
  }

  return (name) =>
    new Promise((resolve, reject) => {
      waiting.push({ name, resolve, reject })
      if (underWay < MAX_QUERIES) void work()
    })
}
