/** Memory of the sandbox's processes, from /proc. Linux only. */
import { readFileSync } from 'node:fs'
import type { Service } from '../support/service.ts'
import { processTrees } from './process-trees.ts'

const KB_PER_MB = 1_024

/**
 * Memory by the name of the process, in MB: resident, or for a server of several processes, such as PostgreSQL, what
 * they take together, with shared memory counted once.
 */
export function readMemory(service: Service): ReadonlyMap<string, number> {
  return new Map(
    [...processTrees(service)].map(([name, pids]) => {
      const field = pids.length === 1 ? 'Rss' : 'Pss'
      return [name, pids.reduce((sum, pid) => sum + memoryMb(pid, field), 0)]
    }),
  )
}

/** proc_pid_smaps(5). Zero for a process that has ended. */
function memoryMb(pid: number, field: 'Rss' | 'Pss'): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / KB_PER_MB
  } catch {
    return 0
  }
}
