/**
 * Simulates a process that dies at a chosen file system operation: from that step on nothing reaches the file system,
 * not even the cleanup of a `finally`, as after kill -9.
 */
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/** Operations that change something; dying before a read equals dying after the previous change. */
const STEPS = ['open', 'mkdir', 'rename', 'link', 'unlink', 'rm', 'rmdir'] as const
const HANDLE_STEPS = ['writeFile', 'sync', 'truncate'] as const

class Killed extends Error {}

type Step = (...args: unknown[]) => Promise<unknown>

/**
 * Runs work that dies before step number `dieAt`, counted from 1.
 *
 * @returns whether the work finished before it died
 */
export async function dyingAt(dieAt: number, work: () => Promise<unknown>): Promise<{ readonly ended: boolean }> {
  const handle = await fs.open(new URL(import.meta.url))
  const prototype = Object.getPrototypeOf(handle) as Record<string, Step>
  await handle.close()
  let step = 0
  const restore: (() => void)[] = []
  const wrap = (target: Record<string, Step>, name: string) => {
    const original = target[name] as Step
    target[name] = function (this: unknown, ...args) {
      step += 1
      return step >= dieAt ? Promise.reject(new Killed(`killed before ${name}`)) : original.apply(this, args)
    }
    restore.push(() => {
      target[name] = original
    })
  }
  for (const name of STEPS) wrap(fs as unknown as Record<string, Step>, name)
  for (const name of HANDLE_STEPS) wrap(prototype, name)
  syncBuiltinESMExports()
  try {
    await work()
    return { ended: step < dieAt }
  } catch (error) {
    if (step >= dieAt) return { ended: false }
    throw error
  } finally {
    for (const undo of restore) undo()
    syncBuiltinESMExports()
  }
}
