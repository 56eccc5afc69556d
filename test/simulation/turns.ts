/**
 * Laws of an engine: tenants take turns, so that while a lane waits in line for its pass, no other tenant begins more than
 * one; and a lane has one pass at a time under a lease.
 */
import { FenceLost } from '../../src/event-log/append.ts'
import type { Fence, Lease, Leases } from '../../src/event-log/leases.ts'
import { parseLane } from '../../src/transactions/lanes.ts'
import { type LaneQueue, PARTITIONS, partitionLease, partitionOf } from '../../src/transactions/partitions.ts'
import { OWNERS } from './signer.ts'
import type { World } from './terms.ts'

export type Turns = {
  /** The leases of partitions, watched. */
  readonly leases: (leases: Leases, queue: LaneQueue) => Leases
  /** These lanes wait in line, if their partition is held. */
  readonly inLine: (lanes: readonly string[]) => void
  /** Runs a pass of a lane. */
  readonly passing: <T>(lane: string, lease: Fence, pass: () => Promise<T>) => Promise<T>
  /** Some partitions may be given back now. */
  readonly forget: () => void
  /** This partition was given back. */
  readonly left: (partition: string) => void
}

export function watchTurns({ broken }: World, process: string): Turns {
  const held = new Set<string>()
  /** The lease of each lane with a pass. */
  const running = new Map<string, bigint>()
  const waiting = new Set<string>()
  /** By tenant that waits: the passes that each other one began meanwhile. */
  const begun = new Map<string, Map<string, number>>()
  const ownerOf = (lane: string) => OWNERS.get(parseLane(lane).address) ?? ''

  function leave(partition: string): void {
    held.delete(partition)
    for (const lane of waiting) if (partitionOf(lane) === partition) waiting.delete(lane)
    for (const tenant of begun.keys()) if (![...waiting].some((lane) => ownerOf(lane) === tenant)) begun.delete(tenant)
  }

  function watch(lease: Lease, partition: string): Lease {
    return {
      ...lease,
      async renew() {
        const isKept = await lease.renew()
        if (!isKept) leave(partition)
        return isKept
      },
      release(options) {
        leave(partition)
        return lease.release(options).then((outcome) => {
          if (outcome === 'wanted') held.add(partition)
          return outcome
        })
      },
    }
  }

  return {
    leases: ({ acquire }, queue) => ({
      async acquire(name) {
        const lease = await acquire(name)
        const partition = PARTITIONS.find((one) => partitionLease(queue, one) === name)
        if (lease === null || partition === undefined) return lease
        held.add(partition)
        return watch(lease, partition)
      },
    }),
    inLine(lanes) {
      for (const lane of lanes)
        if (held.has(partitionOf(lane) ?? '') && !running.has(lane)) {
          waiting.add(lane)
          if (!begun.has(ownerOf(lane))) begun.set(ownerOf(lane), new Map())
        }
    },
    async passing(lane, { fence }, pass) {
      const tenant = ownerOf(lane)
      if (running.get(lane) === fence) broken(`${process}: ${lane} has two passes at once`)
      waiting.delete(lane)
      begun.delete(tenant)
      if ([...waiting].some((other) => ownerOf(other) === tenant)) begun.set(tenant, new Map())
      for (const [other, counts] of begun) {
        if (other === tenant) continue
        const count = (counts.get(tenant) ?? 0) + 1
        counts.set(tenant, count)
        if (count > 1) broken(`${process}: ${other} waits while ${tenant} begins ${count} passes`)
      }
      running.set(lane, fence)
      try {
        return await pass()
      } catch (error) {
        if (error instanceof FenceLost) leave(partitionOf(lane) ?? '')
        throw error
      } finally {
        if (running.get(lane) === fence) running.delete(lane)
      }
    },
    left: leave,
    forget() {
      waiting.clear()
      begun.clear()
    },
  }
}
