/** A drain over items in memory, with simulated time and leases. The partition of `7-acme-1` is `7`; its tenant is `acme`. */
import { FenceLost } from '../../src/event-log/append.ts'
import { Drain, type DrainSettings, type Passed } from '../../src/jobs/drain.ts'
import type { PartitionLease } from '../../src/jobs/held-partition.ts'
import { type SimulatedTime, simulateTime } from './simulated-time.ts'

/** A pass that a test ends. */
export type RunningPass = {
  readonly item: string
  readonly fence: bigint
  readonly beganAt: number
  readonly end: (passed?: Passed) => Promise<void>
  readonly fail: (error: unknown) => Promise<void>
}

export type DrainStage = {
  readonly time: SimulatedTime
  readonly drain: Drain
  /** Items with work, as a search finds them. */
  readonly work: Set<string>
  /** All passes that began, in their order. */
  readonly began: RunningPass[]
  readonly running: () => readonly string[]
  /** Calls of `find` with what they asked for. */
  readonly searches: { readonly partitions: readonly string[]; readonly isStale: boolean }[]
  readonly failures: { readonly item: string; readonly tries: number; readonly isFinal: boolean }[]
  readonly errors: unknown[]
  readonly leases: SimulatedLeases
  readonly stop: AbortController
  /** Takes a partition. `outcome` is `null` while it is held. */
  readonly hold: (partition: string, isStale?: boolean, first?: readonly string[]) => { outcome: string | null }
}

export type SimulatedLeases = DrainSettings['leases'] & {
  /** By name, the fence of the holder. */
  readonly held: Map<string, bigint>
  readonly wanted: Set<string>
  readonly renewals: string[]
  /** Another process takes a lease from its holder. */
  readonly steal: (name: string) => void
  /** Called before each release. */
  beforeRelease: () => Promise<void>
}

function simulateLeases(): SimulatedLeases {
  const held = new Map<string, bigint>()
  const wanted = new Set<string>()
  const renewals: string[] = []
  let fences = 0n
  const leaseOf = (name: string, fence: bigint): PartitionLease => ({
    name,
    fence,
    async renew() {
      renewals.push(name)
      return held.get(name) === fence
    },
    async release(options) {
      await leases.beforeRelease()
      if (held.get(name) !== fence) return 'lost'
      if (wanted.delete(name) && options?.force !== true) return 'wanted'
      held.delete(name)
      return 'released'
    },
  })
  const leases: SimulatedLeases = {
    held,
    wanted,
    renewals,
    beforeRelease: async () => undefined,
    async acquire(name) {
      if (held.has(name)) {
        wanted.add(name)
        return null
      }
      fences += 1n
      held.set(name, fences)
      return leaseOf(name, fences)
    },
    steal(name) {
      fences += 1n
      held.set(name, fences)
    },
  }
  return leases
}

export function stageDrain(
  settings: Partial<Omit<DrainSettings, 'leases' | 'time'>> & { readonly time?: SimulatedTime } = {},
): DrainStage {
  const { time = simulateTime(), ...others } = settings
  const leases = simulateLeases()
  const work = new Set<string>()
  const began: RunningPass[] = []
  const open = new Set<RunningPass>()
  const searches: DrainStage['searches'] = []
  const failures: DrainStage['failures'] = []
  const errors: unknown[] = []
  const stop = new AbortController()

  function pass(item: string, { fence }: PartitionLease): Promise<Passed> {
    return new Promise((resolve, reject) => {
      const settled = (settle: () => void) => {
        open.delete(one)
        settle()
        return time.settle()
      }
      const one: RunningPass = {
        item,
        fence,
        beganAt: time.now(),
        end: (passed = 'done') => settled(() => resolve(passed)),
        fail: (error) => settled(() => reject(error)),
      }
      began.push(one)
      open.add(one)
    })
  }

  const drain = new Drain({
    leases,
    leaseMs: 3_000,
    leaseOf: (partition) => `work-${partition}`,
    partitionOf: (item) => (item.includes('-') ? item.charAt(0) : null),
    async find(partitions, isStale) {
      searches.push({ partitions, isStale })
      return [...work].filter((item) => partitions.includes(item.charAt(0)))
    },
    tenantsOf: async (items) => new Map(items.map((item) => [item, item.split('-')[1] ?? ''])),
    groupOf: () => 'all',
    pass,
    atOnce: { ofGroup: 4, ofTenant: () => null },
    onFailed: (item, _, failure) => failures.push({ item, ...failure }),
    onError: (error) => errors.push(error),
    ...others,
    time,
  })

  return {
    time,
    drain,
    work,
    began,
    running: () => [...open].map(({ item }) => item),
    searches,
    failures,
    errors,
    leases,
    stop,
    hold(partition, isStale = false, first = []) {
      const held: { outcome: string | null } = { outcome: null }
      drain.hold(partition, { isStale, first }, stop.signal).then(
        (outcome) => {
          held.outcome = outcome
        },
        (error: unknown) => {
          held.outcome = String(error)
        },
      )
      return held
    },
  }
}

export const fenceLost = new FenceLost('work-7')
