/** Waits for what other processes bring about, without fixing how long it takes: the test's own timeout bounds it. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves with the first value of `look` that is not null, undefined or false; a failed look is no value. */
export async function eventually<T>(look: () => T | Promise<T>): Promise<Exclude<T, null | undefined | false>> {
  for (;;) {
    const value = await Promise.resolve(look()).catch(() => undefined)
    if (value !== null && value !== undefined && value !== false) {
      return value as Exclude<T, null | undefined | false>
    }
    await sleep(20)
  }
}
