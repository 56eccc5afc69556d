/** CPU time of the sandbox's processes, from /proc. Linux only. */
import { readFileSync } from 'node:fs'
import type { Service } from '../support/service.ts'
import { type NamedProcess, PARENT, processTrees, statFields } from './process-trees.ts'

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own clock. */
const TICK_MS = 10

/** CPU time by the name of the process, in ms since its start. */
export type CpuTimes = ReadonlyMap<string, number>

/**
 * The CPU time of each process of the sandbox. A server of several processes, such as PostgreSQL, counts as one, with
 * its connections that have ended.
 *
 * @param added further processes, as for `processTrees`
 */
export function readCpuTimes(service: Service, added: readonly NamedProcess[] = []): CpuTimes {
  return new Map(
    [...processTrees(service, added)].map(([name, pids]) => [
      name,
      pids.reduce((sum, pid) => sum + usedMs(pid, name !== PARENT), 0),
    ]),
  )
}

/** What each process used between two readings, in ms. @throws Error when a process was restarted in between */
export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return new Map(
    [...after].map(([name, ms]) => {
      const used = ms - (before.get(name) ?? 0)
      if (used < 0) throw new Error(`${name} was restarted during the measurement: run the bench again`)
      return [name, used]
    }),
  )
}

/** proc_pid_stat(5). Zero for a process that has ended: its parent counts it then. */
function usedMs(pid: number, endedChildren: boolean): number {
  try {
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = statFields(
      readFileSync(`/proc/${pid}/stat`, 'utf8'),
    ).slice(11, 15)
    return (user + system + (endedChildren ? endedUser + endedSystem : 0)) * TICK_MS
  } catch {
    return 0
  }
}
