/**
 * Partitions of lanes. Lanes are hashed to 16 partitions, by the first digit of the sender's address, which is the end of a
 * Keccak hash. One process at a time has a partition for signing, and one for sending: it holds its lease, and works on
 * all of its lanes.
 */
import type { QueueName } from '../core/registry.ts'
import { isLaneName, parseLane } from './lanes.ts'

/** The queues whose jobs are partitions. */
export type LaneQueue = Extract<QueueName, 'lane' | 'mpc-lane' | 'submit'>

export const LANE_QUEUES = ['lane', 'mpc-lane', 'submit'] as const satisfies readonly LaneQueue[]

export type Step = 'sign' | 'submit'

/** What the jobs of each queue do with a lane. */
export const STEPS = { lane: 'sign', 'mpc-lane': 'sign', submit: 'submit' } as const satisfies Record<LaneQueue, Step>

export const PARTITIONS = [...'0123456789abcdef'] as const

const LEASES = { lane: 'sign', 'mpc-lane': 'sign-mpc', submit: 'submit' } as const satisfies Record<LaneQueue, string>

/** The lease of a partition: `sign-7`, `sign-mpc-7`, `submit-7`. */
export function partitionLease(queue: LaneQueue, partition: string): string {
  return `${LEASES[queue]}-${partition}`
}

/** `null` for a name that is no lane's. */
export function partitionOf(lane: string): string | null {
  return isLaneName(lane) ? parseLane(lane).address.charAt(2).toLowerCase() : null
}

export function isPartition(name: string): boolean {
  return (PARTITIONS as readonly string[]).includes(name)
}

/** SQL: the partition of the lane with this sender. */
export function partitionSql(address: string): string {
  return `lower(substr(${address}, 3, 1))`
}

/** SQL: the lease of the partition of the lane with this sender. */
export function partitionLeaseSql(queue: LaneQueue, address: string): string {
  return `'${LEASES[queue]}-' || ${partitionSql(address)}`
}

/** What wake-ups call the work of a lane. */
export function workName(step: Step, lane: string): string {
  return `${step} ${lane}`
}

/** The lane in the name of a step's work; `null` for other work. */
export function laneOfWork(step: Step, name: string): string | null {
  return name.startsWith(`${step} `) ? name.slice(step.length + 1) : null
}
