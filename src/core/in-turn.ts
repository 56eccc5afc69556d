/** Runs tasks with the same key one after the other in this process. Unique indexes guard against other processes. */

/** Runs the task after all earlier ones of the same key, whether those succeeded or failed. */
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
