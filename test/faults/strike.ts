/**
 * Carries out the faults of a round, each at its time, and counts those that took effect. Lasting faults overlap with
 * others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { toQuantity } from '../../src/chain/hex.ts'
import type { Network } from '../../src/core/networks.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import type { DatabaseProxy } from '../support/database-proxy.ts'
import { emptyQueues } from '../support/empty-queues.ts'
import type { Random } from '../support/load-random.ts'
import { createLiar, PASS } from '../support/node-lies.ts'
import { reorganise } from '../support/reorganise.ts'
import type { NodeProxy } from '../support/service-node-proxy.ts'
import type { World } from '../support/world.ts'
import type { Fault } from './fault-plan.ts'

/** Faults that took effect, by kind. */
export type Hits = {
  /** Processes ended by SIGKILL. */
  readonly kills: number
  /** Processes that were stopped and continued. */
  readonly pauses: number
  readonly reorgs: number
  /** False or missing answers of nodes. */
  readonly lies: number
  /** Restarts, cuts, and periods of slowness, refused writes and a full disk. */
  readonly databaseFaults: number
  /** Emptied queues and pools, and base fees. */
  readonly others: number
}

export const NO_HITS: Hits = { kills: 0, pauses: 0, reorgs: 0, lies: 0, databaseFaults: 0, others: 0 }

export type Struck = {
  /** All except false answers, which continue until the world is calmed. */
  readonly hits: Omit<Hits, 'lies'>
  /** Times at which everything was killed at once. */
  readonly killedAt: readonly Date[]
  /** When the last fault ended, in `performance` time. */
  readonly lastAt: number
  /** Requested exits of PostgreSQL. */
  readonly restarts: number
}

type Tally = { -readonly [Key in keyof Struck['hits']]: number } & { restarts: number; killedAt: Date[] }

const APPEND = /append_commits/
/** Statements that a full disk refuses: everything except reads. */
const WRITES = /append_commits|_lease|INSERT|UPDATE|DELETE/i
const LESSER_DEPTHS = [5, 2, 1] as const
/** A block comes every second. */
const REORG_TRIES = 20
/** Base fees must not grow without limit: above this one they are not raised. */
const HIGH_BASE_FEE = 20n * 10n ** 9n

/** @param unrest fraction of exchanges with false answers of nodes, until the world is calmed */
export async function strikeAll(
  world: World,
  { faults, random, unrest }: { readonly faults: readonly Fault[]; readonly random: Random; readonly unrest: number },
  onFault: (fault: Fault) => void,
): Promise<Struck> {
  const startedAt = performance.now()
  const { lies: _, ...none } = NO_HITS
  const tally: Tally = { ...none, restarts: 0, killedAt: [] }
  const always = unrest === 0 ? () => PASS : createLiar(random, unrest)
  const stage: Stage = { world, random, tally, always, writable: Promise.resolve() }
  beAlways(stage)
  const lasting: Promise<PromiseSettledResult<void>[]>[] = []
  for (const fault of faults) {
    await sleep(Math.max(0, startedAt + fault.atMs - performance.now()))
    onFault(fault)
    if ('forMs' in fault && fault.type !== 'pause') lasting.push(begin(stage, fault))
    else await perform(stage, fault)
  }
  const failed = (await Promise.all(lasting)).flat().find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  const { restarts, killedAt, ...hits } = tally
  return { hits, killedAt, restarts, lastAt: performance.now() }
}

/** The behaviour of nodes without other faults. */
function beAlways({ world: { nodes }, always }: Stage): void {
  for (const node of Object.values(nodes)) node.decide = always
}

/** Since the proxies were started. */
export function liesTold({ nodes }: World): number {
  return Object.values(nodes).reduce((sum, { told }) => sum + [...told.values()].reduce((a, b) => a + b, 0), 0)
}

type Stage = {
  readonly world: World
  readonly random: Random
  readonly tally: Tally
  readonly always: NodeProxy['decide']
  /** Resolves when the database accepts writes again. */
  writable: Promise<unknown>
}

function begin(stage: Stage, fault: Extract<Fault, { forMs: number }>): Promise<PromiseSettledResult<void>[]> {
  const over = Promise.allSettled([last(stage, fault)])
  if (fault.type === 'read-only database') stage.writable = over
  return over
}

async function perform(stage: Stage, fault: Fault): Promise<void> {
  const { world, tally } = stage
  const { service } = world
  switch (fault.type) {
    case 'kill':
      tally.kills += fault.names.filter((name) => service.kill(name)).length
      return
    case 'pause':
      if (!service.kill(fault.name, 'SIGSTOP')) return
      tally.pauses += 1
      await sleep(fault.forMs)
      return void service.kill(fault.name, 'SIGCONT')
    case 'kill all':
      await stage.writable
      tally.kills += service.state().processes.length + 1
      tally.killedAt.push(new Date())
      await service.killAll()
      return startAgain(stage)
    case 'kill parent':
      await stage.writable
      tally.kills += 1
      await service.killParent()
      return startAgain(stage)
    case 'restart postgres':
      if (!service.kill('postgres', 'SIGINT')) return
      tally.databaseFaults += 1
      tally.restarts += 1
      return
    case 'cut connections':
      tally.databaseFaults += world.database.cutAll() > 0 ? 1 : 0
      return
    case 'reorg':
      tally.reorgs += (await attempt(() => reorganiseAsDeepAs(world, fault))) ? 1 : 0
      return
    case 'forget pool':
      tally.others += (await attempt(() => ask(world, fault.network, 'anvil_dropAllTransactions'))) ? 1 : 0
      return
    case 'base fee':
      tally.others += (await attempt(() => raiseBaseFee(world, fault.network))) ? 1 : 0
      return
    case 'empty queue':
      tally.others += (await attempt(() => emptyQueues(world.service.state().database_url))) ? 1 : 0
      return
    default:
      throw new Error(`${fault.type} lasts`)
  }
}

/** A start needs a working environment: an operator does not restart with a full disk or a read-only database. */
async function startAgain(stage: Stage): Promise<void> {
  stage.world.calm()
  await stage.world.service.start()
  beAlways(stage)
}

/** Runs a lasting fault; returns after its end. */
async function last({ world, random, tally, always }: Stage, fault: Extract<Fault, { forMs: number }>): Promise<void> {
  const { nodes, database } = world
  switch (fault.type) {
    case 'lies': {
      const liar = createLiar(random, fault.share)
      for (const network of fault.networks) nodes[network].decide = liar
      await sleep(fault.forMs)
      for (const node of Object.values(nodes)) if (node.decide === liar) node.decide = always
      return
    }
    case 'read-only database':
      await insist(() => query(world, 'ALTER SYSTEM SET default_transaction_read_only = on'))
      await insist(() => query(world, 'SELECT pg_reload_conf()'))
      await sleep(fault.forMs)
      // A kill in between does not undo it: the setting is in a file.
      await insist(() => query(world, 'ALTER SYSTEM RESET default_transaction_read_only'))
      await insist(() => query(world, 'SELECT pg_reload_conf()'))
      break
    case 'cut commits':
      await meanwhile(database, fault, (text) =>
        APPEND.test(text) && random.chance(fault.share) ? 'cut after' : 'pass',
      )
      break
    case 'slow database':
      await meanwhile(database, fault, () => ({ lateMs: fault.lateMs }))
      break
    case 'full disk':
      await meanwhile(database, fault, (text) => (WRITES.test(text) ? 'disk full' : 'pass'))
      break
    default:
      throw new Error(`${fault.type} does not last`)
  }
  tally.databaseFaults += 1
}

/** Ends early when another fault takes over the proxy. */
async function meanwhile(
  database: DatabaseProxy,
  { forMs }: { readonly forMs: number },
  decide: DatabaseProxy['decide'],
): Promise<void> {
  database.decide = decide
  await sleep(forMs)
  if (database.decide === decide) database.decide = () => 'pass'
}

function nodeOf({ service }: World, network: Network): string {
  return service.state().networks[network].rpc_url
}

function ask(world: World, network: Network, method: string, ...params: unknown[]): Promise<unknown> {
  return callRpc(nodeOf(world, network), method, params)
}

/** A restarted node cannot reorganise below its start: it then goes back as far as it can. */
async function reorganiseAsDeepAs(world: World, fault: Extract<Fault, { type: 'reorg' }>): Promise<void> {
  const { network, again } = fault
  for (const depth of [fault.depth, ...LESSER_DEPTHS.filter((lesser) => lesser < fault.depth)])
    if (await attempt(() => reorganise(nodeOf(world, network), { depth, again }))) return
  await insist(() => reorganise(nodeOf(world, network), { depth: 1, again }), REORG_TRIES)
}

async function raiseBaseFee(world: World, network: Network): Promise<void> {
  const { baseFeePerGas } = (await ask(world, network, 'eth_getBlockByNumber', 'latest', false)) as {
    readonly baseFeePerGas: string
  }
  if (BigInt(baseFeePerGas) > HIGH_BASE_FEE) throw new Error('the base fee is high already')
  await ask(world, network, 'anvil_setNextBlockBaseFeePerGas', toQuantity(BigInt(baseFeePerGas) * 10n))
}

/** Directly at the server, not through the proxy. */
async function query({ service }: World, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: service.state().database_url, query_timeout: 5_000 })
  client.on('error', () => undefined) // The running statement fails with the same error.
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** Whether it took effect: the target may not be running at this moment. */
async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  return action().then(
    () => true,
    () => false,
  )
}

/** Five minutes: only ends a hanging run. */
const TRIES = 3_000
const PAUSE_MS = 100

async function insist(action: () => Promise<unknown>, most = TRIES): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await action()
      return
    } catch (error) {
      if (tries === most) throw error
    }
    await sleep(PAUSE_MS)
  }
}
