/**
 * The production engine of a signer or a submitter: a job brings a partition, its lanes are worked on while its lease is
 * held, and new work is learned of from wake-ups. Time, chance, queues, leases and reads are simulated.
 */

import type { Fence } from '../../src/event-log/leases.ts'
import type { Clockwork } from '../../src/jobs/clockwork.ts'
import { Drain, type Passed } from '../../src/jobs/drain.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { type Lane, laneName, parseLane } from '../../src/transactions/lanes.ts'
import { laneOfWork, partitionLease, partitionOf, STEPS, type Step } from '../../src/transactions/partitions.ts'
import { caller, createLeasesPort, IN_FLIGHT, type PortsOf } from './ports.ts'
import { OWNERS } from './signer.ts'
import { isExpected, LEASE_MS, type World } from './terms.ts'
import { watchTurns } from './turns.ts'

/** Pauses of less than this may end at any time, since the clock of the world goes in large steps. */
const SHORT_MS = 300

export type Pass = (lane: Lane, lease: Fence) => Promise<Passed>

export async function runEngine(
  world: World,
  ports: PortsOf,
  { queue, pass }: { readonly queue: 'lane' | 'submit'; readonly pass: Pass },
  isStopped: () => boolean,
): Promise<void> {
  const { scheduler, queues, random } = world
  const { actor } = ports
  const step = STEPS[queue]
  const call = caller(ports)
  const turns = watchTurns(world, actor.name)
  const time = clockworkOf(world, ports)
  const drain = new Drain({
    leases: turns.leases(createLeasesPort(ports, LEASE_MS), queue),
    leaseMs: LEASE_MS,
    leaseOf: (partition) => partitionLease(queue, partition),
    partitionOf,
    find: (partitions, isStale) =>
      call(`find lanes of ${partitions.join(' ')}`, () => findLanes(world, step, partitions, isStale)),
    async tenantsOf(lanes) {
      turns.inLine(lanes)
      return new Map(lanes.map((lane) => [lane, world.mutant.takesNoTurns ? '' : ownerOf(lane)]))
    },
    groupOf: (lane) => lane.slice(0, lane.indexOf('-')),
    pass: (lane, lease) => turns.passing(lane, lease, () => pass(parseLane(lane), lease)),
    atOnce: { ofGroup: world.atOnce, ofTenant: () => null },
    onError: (error) => note(world, ports, error),
    onFailed: (_lane, error) => note(world, ports, error),
    time,
  })
  world.hints.listen(actor, (work) => {
    if (work === null) drain.lookAgain()
    else drain.wake(work.flatMap((name) => laneOfWork(step, name) ?? []))
  })
  const held = new Set<string>()
  const hold = async ({ id, data }: Job) => {
    const isHeld = held.has(id)
    held.add(id)
    try {
      return await drain.hold(id, { isStale: data.stale !== undefined }, new AbortController().signal)
    } finally {
      if (!isHeld) {
        held.delete(id)
        turns.left(id)
      }
    }
  }
  const add = ({ id }: Job, why: string) =>
    call(`queue ${id}, ${why}`, () => queues.add([{ queue, id, data: { partition: id } }]))
  const work = async (job: Job) => {
    try {
      const outcome = await hold(job)
      if (outcome === 'left') await add(job, 'which has work left')
      // By then the lease of a holder that died has expired.
      if (outcome === 'taken')
        time.after(LEASE_MS, () => void add(job, 'which another had').catch((error) => note(world, ports, error)))
    } catch (error) {
      note(world, ports, error)
      if (random.chance(0.8)) queues.add([job])
    }
    queues.done(job)
  }
  const share = async () => {
    const wait = { actor, label: 'gives partitions to others', weight: 0.02, fallible: false, isReady: world.faults }
    while (!isStopped()) {
      const most = await scheduler.call(wait, () => random.between(0, 1))
      turns.forget()
      drain.keepOnly(most)
    }
  }
  void share()
  while (!isStopped()) {
    const wait = { actor, label: `take ${queue}`, weight: 1, fallible: false, isReady: () => queues.has(queue) }
    const job = await scheduler.call(wait, () => queues.take(queue, actor))
    if (job !== null) void work(job)
  }
}

/** Whatever production does not try again is a defect. */
function note({ scheduler, broken }: World, { actor }: PortsOf, error: unknown): void {
  scheduler.note(`  ${actor.name}: ${error instanceof Error ? error.message : error}`)
  if (!isExpected(error)) broken(`${actor.name}: ${error instanceof Error ? error.stack : error}`)
}

export function clockworkOf({ databaseNow, random }: Pick<World, 'databaseNow' | 'random'>, ports: PortsOf): Clockwork {
  const { actor, scheduler } = ports
  return {
    now: databaseNow,
    after(milliseconds, callback) {
      const due = databaseNow() + milliseconds
      const isReady = () => milliseconds < SHORT_MS || databaseNow() >= due
      const label = `a pause of ${milliseconds} ms ends`
      return scheduler.later({ actor, label, weight: 0.5, fallible: false, isReady }, callback)
    },
    random: () => random.next(),
  }
}

/** Who has the wallet of a lane. */
function ownerOf(lane: string): string {
  return OWNERS.get(parseLane(lane).address) ?? ''
}

/** Same as the statement of `findLanes`. */
function findLanes({ store }: World, step: Step, partitions: readonly string[], isStale: boolean): readonly string[] {
  const isOpen = ({ state, attention }: { readonly state: string; readonly attention: string | null }) => {
    if (step === 'submit') return IN_FLIGHT.includes(state)
    return state === 'requested' || isWish(attention) || (isStale && IN_FLIGHT.includes(state))
  }
  const lanes = [...store.transactions.values()]
    .filter(isOpen)
    .map((row) => laneName({ chainId: row.chain_id, address: row.from_address }))
  return [...new Set(lanes)].filter((lane) => partitions.includes(partitionOf(lane) ?? ''))
}

function isWish(attention: string | null): boolean {
  return attention === 'cancel' || attention === 'speed_up'
}
