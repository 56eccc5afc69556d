/** The dispatcher and the sweeper: the mapping of events to jobs is production's, the queues are not. */
import type { Job } from '../../src/jobs/queues.ts'
import { type LanedEvent, type Lanes, transactionJobs, withLanes } from '../../src/transactions/jobs.ts'
import { type Lane, laneName } from '../../src/transactions/lanes.ts'
import { createPartitionJobs } from '../../src/transactions/partition-jobs.ts'
import { partitionOf } from '../../src/transactions/partitions.ts'
import { clockworkOf } from './engine.ts'
import { caller, IN_FLIGHT, isOlder, type PortsOf } from './ports.ts'
import { LANES } from './signer.ts'
import type { Store } from './store.ts'
import { CHAIN_ID, REBROADCAST_AFTER_MS, type World } from './terms.ts'

const QUIET_MS = 5_000
/** Of the mutant that loses its jobs. */
const LOST_PARTITION = partitionOf(laneName({ chainId: CHAIN_ID, address: LANES[0] ?? '' }))

export async function runDispatcher(world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> {
  const { scheduler, store, queues } = world
  const { actor } = ports
  const add = partitionJobs(world, ports)
  // A restarted dispatcher continues from its checkpoint, so it handles some events twice.
  while (!isStopped()) {
    const isReady = () => store.events.length > queues.checkpoint()
    const wait = { actor, label: 'dispatch', weight: 1, fallible: false, isReady }
    const from = await scheduler.call(wait, () => world.queues.checkpoint())
    const events = store.events
      .slice(from)
      .map(({ streamId, type, tenantId }) => ({ streamId, type, tenantId, data: null }))
    if (events.length === 0) continue
    const lanesOf = (ids: readonly string[], decided: readonly string[]) =>
      Promise.resolve(findLanes(store, ids, decided))
    for await (const batch of withLanes(once({ events }), lanesOf)) {
      const jobs = batch.events.flatMap((event: LanedEvent) => transactionJobs(event))
      await add(jobs).catch(() => undefined)
      queues.commit(from + events.length)
    }
  }
}

/** Production's, of one process: jobs of lanes become jobs of their partitions. */
function partitionJobs(world: World, ports: PortsOf): (jobs: readonly Job[]) => Promise<void> {
  const { queues, hints, mutant } = world
  const isLost = ({ data }: Job) => mutant.dropsPartition && data.partition === LOST_PARTITION
  return createPartitionJobs({
    add: (jobs) =>
      caller(ports)(`queue ${jobs.map(({ queue, id }) => `${queue} ${id}`).join(', ')}`, () =>
        queues.add(jobs.filter((job) => !isLost(job))),
      ),
    tell: hints.tell,
    onError: (error) =>
      world.scheduler.note(`  ${ports.actor.name}: ${error instanceof Error ? error.message : error}`),
    signal: new AbortController().signal,
    time: clockworkOf(world, ports),
  }).add
}

async function* once<T>(item: T): AsyncGenerator<T> {
  yield item
}

function findLanes(store: Store, ids: readonly string[], decided: readonly string[]): Lanes {
  const own = new Map<string, Lane>()
  const dependents = new Map<string, Lane[]>()
  for (const row of store.transactions.values()) {
    const lane = { chainId: row.chain_id, address: row.from_address }
    if (ids.includes(row.transaction_id)) own.set(row.transaction_id, lane)
    if (row.depends_on !== null && decided.includes(row.depends_on) && row.state === 'requested')
      dependents.set(row.depends_on, [...(dependents.get(row.depends_on) ?? []), lane])
  }
  return { own, dependents }
}

export async function runSweeper(world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> {
  const add = partitionJobs(world, ports)
  while (!isStopped()) {
    const wait = { actor: ports.actor, label: 'sweep', weight: 0.1, fallible: false }
    const jobs = await world.scheduler.call(wait, () => findUnfinished(ports))
    if (jobs.length > 0) await add(jobs).catch(() => undefined)
  }
}

/** Same as the database query of `createFindUnfinishedLanes`. */
function findUnfinished(ports: PortsOf): Job[] {
  const jobs = new Map<string, Job>()
  for (const row of ports.store.transactions.values()) {
    const unfinished = row.state === 'requested' || IN_FLIGHT.includes(row.state)
    if (!unfinished || !isOlder(row, QUIET_MS, ports)) continue
    const lane = laneName({ chainId: row.chain_id, address: row.from_address })
    const add = (queue: 'lane' | 'submit') =>
      jobs.set(`${queue} ${lane}`, { queue, id: lane, data: { lane, stale: 'true', told: 'true' } })
    const isLate = isOlder(row, REBROADCAST_AFTER_MS, ports)
    if (row.state === 'requested' || row.attention !== null || isLate) add('lane')
    if (row.state !== 'requested' && (row.state !== 'submitted' || isLate)) add('submit')
  }
  return [...jobs.values()]
}
