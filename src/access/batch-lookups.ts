/**
 * Bounds what looking things up costs the database: few queries at once, each for all who wait. Strangers who guess keys make
 * the queries longer, not more, and a good key waits for two of them at most.
 */

/** Queries under way at once: more than one, so that a connection that hangs does not hold up everybody. */
const MAX_QUERIES = 4
/** Names in one query: a search in an index for each, so that a full one takes some milliseconds. */
const MAX_NAMES = 1_000

type Waiting<Found> = {
  readonly name: string
  readonly resolve: (found: Found | undefined) => void
  readonly reject: (reason: unknown) => void
}

/**
 * @param find what there is under these names, by name
 * @returns what there is under one name; rejects as `find` does
 */
export function batchLookups<Found>(
  find: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>,
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
    while (waiting.length > 0) await answer(waiting.splice(0, MAX_NAMES))
    underWay -= 1
  }

  return (name) =>
    new Promise((resolve, reject) => {
      waiting.push({ name, resolve, reject })
      if (underWay < MAX_QUERIES) void work()
    })
}
