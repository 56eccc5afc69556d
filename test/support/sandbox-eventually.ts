/** Waits for effects of other processes without a fixed time: the test's own timeout applies. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves with the first value of `look` that is not null, undefined or false; a failed call counts as no value. */
export async function eventually<T>(look: () => T | Promise<T>): Promise<Exclude<T, null | undefined | false>> {
  for (;;) {
    const value = await Promise.resolve(look()).catch(() => undefined)
    if (value !== null && value !== undefined && value !== false) {
      return value as Exclude<T, null | undefined | false>
    }
    await sleep(20)
  }
}
