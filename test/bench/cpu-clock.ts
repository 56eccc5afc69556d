/** CPU time of the sandbox's processes, from /proc. Linux only. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Service } from '../support/service.ts'

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own clock. */
const TICK_MS = 10

/** CPU time by the name of the process, in ms since its start. */
export type CpuTimes = ReadonlyMap<string, number>

type Stat = { readonly parent: number; readonly ownMs: number; readonly endedChildrenMs: number }

/**
 * The CPU time of each process of the sandbox. A server of several processes, such as PostgreSQL, counts as one, with
 * its connections that have ended.
 */
export function readCpuTimes(service: Service): CpuTimes {
  const stats = readStats()
  const { processes } = service.state()
  const times = new Map<string, number>()
  for (const { name, pid } of processes) times.set(name, treeMs(stats, pid))
  const api = processes.find(({ name }) => name === 'api')
  const parent = stats.get(api?.pid ?? 0)?.parent
  if (parent !== undefined) times.set('sandbox', stats.get(parent)?.ownMs ?? 0)
  return times
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

function treeMs(stats: ReadonlyMap<number, Stat>, pid: number): number {
  const stat = stats.get(pid)
  if (stat === undefined) return 0
  const children = [...stats].filter(([, { parent }]) => parent === pid)
  return stat.ownMs + stat.endedChildrenMs + children.reduce((sum, [child]) => sum + treeMs(stats, child), 0)
}

function readStats(): ReadonlyMap<number, Stat> {
  const stats = new Map<number, Stat>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      stats.set(Number(entry), parseStat(readFileSync(`/proc/${entry}/stat`, 'utf8')))
    } catch {
      // It ended after the directory was read.
    }
  }
  return stats
}

/** proc_pid_stat(5); the name of the program may contain spaces and parentheses. */
function parseStat(text: string): Stat {
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [, parent = 0] = fields
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
  return { parent, ownMs: (user + system) * TICK_MS, endedChildrenMs: (endedUser + endedSystem) * TICK_MS }
}
