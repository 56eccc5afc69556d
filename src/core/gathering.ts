/** Questions of the same turn of the event loop that are asked together. */

/** Of one question; each has its own group of keys. */
type Gathered<Key, Answer> = {
  readonly keys: readonly Key[]
  readonly resolve: (answers: readonly Answer[]) => void
  readonly reject: (reason: unknown) => void
  /** How often it is being asked for. */
  asked: number
  isDone: boolean
}

/** Whoever is slow with the keys of one caller delays the others no longer than this. */
export type Patience<Key, Answer> = {
  /** After this time what has no answer is asked for again, in smaller groups and then alone. The first answer counts. */
  readonly ms: number
  /** By what the first key of a caller is remembered as slow: for a while it is asked for apart from the start. */
  readonly nameOf: (key: Key) => string
  /** False for a failure: it counts only if nothing better can follow. */
  readonly isAnswer: (answer: Answer) => boolean
}

const SLOW_FOR_MS = 60_000
/** Names remembered, the newest. */
const MAX_SLOW = 64

/**
 * Asks for the keys of all callers at once, at most `most` together. A caller who asks for more asks alone.
 *
 * @param ask one answer for each key, in their order; with `patience` it may be asked for the same keys several times
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
    readonly patience?: Patience<Key, Answer>
  } = {},
): (keys: readonly Key[]) => Promise<readonly Answer[]> {
  type Group = readonly Gathered<Key, Answer>[]
  const { most = Number.POSITIVE_INFINITY, sizeOf = () => 1, isShared = () => true, patience } = options
  const slow = createSlow(patience)
  let waiting: Gathered<Key, Answer>[] = []

  /** @param isSlow whether it is slow if the answer for a single caller takes long; missing: its time says nothing */
  async function answer(group: Group, isSlow?: () => boolean): Promise<void> {
    const isTimed = patience !== undefined && (group.length > 1 || isSlow !== undefined)
    const timer = isTimed ? setTimeout(() => answerApart(group, isSlow), patience.ms) : undefined
    for (const one of group) one.asked += 1
    try {
      const answers = await ask(group.flatMap(({ keys }) => keys))
      let start = 0
      for (const one of group) {
        const own = answers.slice(start, start + one.keys.length)
        start += own.length
        if (patience === undefined || own.every(patience.isAnswer)) end(one, () => one.resolve(own))
        else endIfLast(one, () => one.resolve(own))
      }
    } catch (error) {
      if (group.length > 1 && !isShared(error)) for (const one of group) void answer([one])
      for (const one of group) endIfLast(one, () => one.reject(error))
    } finally {
      clearTimeout(timer)
      for (const one of group) one.asked -= 1
    }
  }

  /** First in groups of the square root, then alone: a few more questions, if only one is slow. */
  function answerApart(group: Group, isSlow?: () => boolean): void {
    const open = group.filter(({ isDone }) => !isDone)
    if (group.length === 1) {
      if (open.length === 1 && isSlow?.() === true) slow.add(open[0]?.keys[0] as Key)
      return
    }
    const size = isSlow === undefined ? Math.floor(Math.sqrt(open.length)) : 1
    for (let at = 0; at < open.length; at += size)
      void answer(open.slice(at, at + size), () => group.some(({ isDone }) => isDone))
  }

  function askAll(): void {
    const all = waiting
    waiting = []
    let group: Gathered<Key, Answer>[] = []
    let size = 0
    for (const one of all) {
      if (slow.has(one.keys[0] as Key)) {
        void answer([one], () => true)
        continue
      }
      const own = one.keys.reduce((sum, key) => sum + sizeOf(key), 0)
      if (group.length > 0 && size + own > most) {
        void answer(group)
        group = []
        size = 0
      }
      group.push(one)
      size += own
    }
    if (group.length > 0) void answer(group)
  }

  return (keys) =>
    keys.length === 0
      ? Promise.resolve([])
      : new Promise((resolve, reject) => {
          if (waiting.length === 0) setImmediate(askAll)
          waiting.push({ keys, resolve, reject, asked: 0, isDone: false })
        })
}

function end(one: { isDone: boolean }, how: () => void): void {
  if (!one.isDone) how()
  one.isDone = true
}

function endIfLast(one: { isDone: boolean; asked: number }, how: () => void): void {
  if (one.asked === 1) end(one, how)
}

/** The names of what was slow lately. */
function createSlow<Key>(patience: Pick<Patience<Key, never>, 'nameOf'> | undefined) {
  const until = new Map<string, number>()
  return {
    add(key: Key): void {
      const name = patience?.nameOf(key) ?? ''
      // Inserted again: a Map keeps insertion order, so its first key is the oldest.
      until.delete(name)
      until.set(name, performance.now() + SLOW_FOR_MS)
      const oldest = until.keys().next()
      if (until.size > MAX_SLOW && !oldest.done) until.delete(oldest.value)
    },
    has: (key: Key): boolean =>
      until.size > 0 && (until.get(patience?.nameOf(key) ?? '') ?? Number.NEGATIVE_INFINITY) > performance.now(),
  }
}
