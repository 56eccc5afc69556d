/** Limits the number of tasks that run at once; the others wait in order. */
export function createLimit(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  const queue: (() => void)[] = []
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => queue.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      // The slot passes directly to the next waiting task: a new one cannot get in between.
      const next = queue.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
