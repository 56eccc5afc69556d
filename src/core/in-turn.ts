/** Does what belongs together one after the other in this process. What another process does meanwhile, indexes tell. */

/** Runs the task after all earlier ones of the same key, whatever became of them. */
export type InTurn = <Result>(key: string, task: () => Promise<Result>) => Promise<Result>

export function createInTurn(): InTurn {
  const last = new Map<string, Promise<unknown>>()
  return async (key, task) => {
    const running = (last.get(key) ?? Promise.resolve()).then(task, task)
    last.set(key, running)
    try {
      return await running
    } finally {
      if (last.get(key) === running) last.delete(key)
    }
  }
}
