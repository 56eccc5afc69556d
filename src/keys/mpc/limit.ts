/** Limits the number of tasks that run at once. The others wait in lines, which take turns; in a line they keep their order. */
export type Limit = <T>(work: () => Promise<T>, line?: object) => Promise<T>

const COMMON = {}

export function createLimit(most: number): Limit {
  let running = 0
  /** In the order of their turns: a line moves to the end after its turn. */
  const lines = new Map<object, (() => void)[]>()

  function next(): (() => void) | undefined {
    const [[line, tasks] = [COMMON, []]] = lines
    const task = tasks.shift()
    lines.delete(line)
    if (tasks.length > 0) lines.set(line, tasks)
    return task
  }

  return async (work, line = COMMON) => {
    if (running >= most) await new Promise<void>((resolve) => lines.set(line, [...(lines.get(line) ?? []), resolve]))
    else running += 1
    try {
      return await work()
    } finally {
      // The slot passes directly to the next waiting task: a new one cannot get in between.
      const start = next()
      if (start === undefined) running -= 1
      else start()
    }
  }
}
