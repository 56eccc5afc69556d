/** Lets so many pieces of work run at once; the others wait in their order. */
export function createLimit(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  const queue: (() => void)[] = []
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => queue.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      // Whoever waits takes over the place: nobody who comes just now gets in between.
      const next = queue.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
