/** Questions of the same turn of the event loop that are asked together. */

/** Of one question; each has its own group of keys. */
type Gathered<Key, Answer> = {
  readonly keys: readonly Key[]
  readonly resolve: (answers: readonly Answer[]) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Asks for the keys of all callers at once, at most `most` together. A caller who asks for more asks alone.
 *
 * @param ask one answer for each key, in their order
 * @param options.sizeOf what a key counts of `most`; by default 1
 * @param options.isShared whether an error of `ask` is that of every caller; of any other, each caller asks again alone, so
 *   that one bad key fails nobody else. By default every error is shared.
 */
export function gathering<Key, Answer>(
  ask: (keys: readonly Key[]) => Promise<readonly Answer[]>,
  options: {
    readonly most?: number
    readonly sizeOf?: (key: Key) => number
    readonly isShared?: (error: unknown) => boolean
  } = {},
): (keys: readonly Key[]) => Promise<readonly Answer[]> {
  const { most = Number.POSITIVE_INFINITY, sizeOf = () => 1, isShared = () => true } = options
  let waiting: Gathered<Key, Answer>[] = []

  async function answer(group: readonly Gathered<Key, Answer>[]): Promise<void> {
    try {
      const answers = await ask(group.flatMap(({ keys }) => keys))
      let start = 0
      for (const { keys, resolve } of group) {
        resolve(answers.slice(start, start + keys.length))
        start += keys.length
      }
    } catch (error) {
      if (group.length === 1 || isShared(error)) for (const { reject } of group) reject(error)
      else for (const one of group) void answer([one])
    }
  }

  function askAll(): void {
    const all = waiting
    waiting = []
    let group: Gathered<Key, Answer>[] = []
    let size = 0
    for (const one of all) {
      const own = one.keys.reduce((sum, key) => sum + sizeOf(key), 0)
      if (group.length > 0 && size + own > most) {
        void answer(group)
        group = []
        size = 0
      }
      group.push(one)
      size += own
    }
    void answer(group)
  }

  return (keys) =>
    keys.length === 0
      ? Promise.resolve([])
      : new Promise((resolve, reject) => {
          if (waiting.length === 0) setImmediate(askAll)
          waiting.push({ keys, resolve, reject })
        })
}
