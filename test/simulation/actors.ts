/**
 * The processes of the service: two signers, two submitters, two followers, a dispatcher, a sweeper, and an owner who
 * makes requests. Each runs the production code; after a crash it restarts with only what the store holds.
 */

import { quoteFees } from '../../src/chain/fees.ts'
import { EMPTY_TRANSFER_GAS } from '../../src/chain/forks.ts'
import { countsNow } from '../../src/chain/transaction-counts.ts'
import { KINDS } from '../../src/compose/capabilities.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { toInstant } from '../../src/core/ids.ts'
import type { Fence } from '../../src/event-log/leases.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { checkRecorded } from '../../src/transactions/check-recorded.ts'
import { type CompareLane, createCompareLane } from '../../src/transactions/compare-lane.ts'
import { heldText } from '../../src/transactions/held-cause.ts'
import { createDeferred } from '../../src/transactions/held-lanes.ts'
import type { LaneContext } from '../../src/transactions/lane-context.ts'
import type { Lane } from '../../src/transactions/lanes.ts'
import { createProveLost } from '../../src/transactions/prove-lost.ts'
import { signLane } from '../../src/transactions/sign-lane.ts'
import { submitLane } from '../../src/transactions/submit-lane.ts'
import { osakaRules } from '../support/gas.ts'
import { oneNode } from '../support/one-node.ts'
import { brokenCompare, brokenReads } from './broken-compare.ts'
import { runDispatcher, runSweeper } from './dispatching.ts'
import { runEngine } from './engine.ts'
import { runFollower } from './following.ts'
import { type Node, nodeOf } from './node.ts'
import { createOutsidePort } from './outside-port.ts'
import { runOwner } from './owner.ts'
import { createLanePort, createLogPort, createRowsPort, type PortsOf } from './ports.ts'
import type { Actor } from './scheduler.ts'
import { createSimulatedSigner, simulatedWallet } from './signer.ts'
import {
  CONFIRMATIONS,
  FEE_CAP_WEI,
  MAX_IN_FLIGHT,
  MIN_TIP_WEI,
  REBROADCAST_AFTER_MS,
  REPLACE_AFTER_MS,
  type World,
} from './terms.ts'
import { trustingSilence } from './trusting-silence.ts'

export type Actors = {
  /** All accepted requests have ended, the follower is up to date, and nothing waits. */
  readonly isAtRest: () => boolean
  readonly unrest: () => string
  readonly killAny: () => void
  /** It starts again with others that were killed. */
  readonly kill: (name: string) => void
  /** Every process starts again. */
  readonly killAll: () => void
  readonly stop: () => void
}

/** The loop of an actor while it is alive. */
export type Run = (world: World, ports: PortsOf, isStopped: () => boolean) => Promise<void>

export type Roles = readonly (readonly [string, Run])[]

export const ROLES: Roles = [
  ['signer 1', runSigner],
  ['signer 2', runSigner],
  ['submitter 1', runSubmitter],
  ['submitter 2', runSubmitter],
  ['follower 1', runFollower],
  ['follower 2', runFollower],
  ['dispatcher', runDispatcher],
  ['sweeper', runSweeper],
  ['owner', runOwner],
]

export function startActors(world: World, roles: Roles = ROLES): Actors {
  const { scheduler, store, random, queues, chain } = world
  let stopped = false
  const actors = new Map<string, Actor>()

  function start(name: string, run: Run): void {
    const actor: Actor = { name, alive: true }
    actors.set(name, actor)
    const ports: PortsOf = {
      actor,
      scheduler,
      store,
      now: () => toInstant(world.wallClock()),
      tell: world.hints.tell,
      ...ageClock(world),
    }
    void run(world, ports, () => stopped).catch((error: unknown) =>
      world.broken(`${name} ended with ${error instanceof Error ? error.stack : error}`),
    )
  }
  for (const [name, run] of roles) start(name, run)
  const revive = () => {
    for (const [name, run] of roles) if (!actors.get(name)?.alive) start(name, run)
  }
  // Dead actors are restarted at the next check: a supervisor without a place in the schedule.
  const unrest = (): string => {
    revive()
    const open = [...store.transactions.values()].filter(
      ({ state }) => !['confirmed', 'reverted', 'failed', 'cancelled'].includes(state),
    )
    const tip = chain.head()
    const behind = store.cursor()?.hash === tip.hash ? [] : [`cursor ${store.cursor()?.number} of ${tip.number}`]
    const jobs = queues.size() === 0 ? [] : [`${queues.size()} jobs`]
    return [
      ...open.map(({ transaction_id, state, nonce }) => `${transaction_id} ${state} ${nonce}`),
      ...behind,
      ...jobs,
    ].join(', ')
  }
  return {
    unrest,
    isAtRest: () => unrest() === '',
    killAny() {
      const [name] = random.pick(roles)
      const actor = actors.get(name)
      if (actor?.alive && name !== 'owner') scheduler.kill(actor)
      if (random.chance(0.7)) revive()
    },
    kill(name) {
      const actor = actors.get(name)
      if (actor?.alive) scheduler.kill(actor)
    },
    killAll() {
      for (const [name, actor] of actors) if (actor.alive && name !== 'owner') scheduler.kill(actor)
      revive()
    },
    stop: () => {
      stopped = true
    },
  }
}

function runSigner(world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> {
  return runEngine(world, ports, { queue: 'lane', pass: createSigner(world, ports) }, isStopped)
}

function runSubmitter(world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> {
  return runEngine(world, ports, { queue: 'submit', pass: createSubmitter(world, ports) }, isStopped)
}

function createSigner(world: World, ports: PortsOf) {
  const { chain } = world
  const log = createLogPort(ports)
  const lanes = mutantLanes(world, createLanePort(ports))
  const node = nodeOf(world, ports)
  const nodes = oneNode(node)
  const checked: Parameters<typeof checkRecorded>[0] = {
    log,
    rowsOf: createRowsPort(ports),
    walletOf: simulatedWallet,
    kinds: KINDS,
    keys: world.tagKeys(),
    proveLost: createProveLost({
      keys: world.tagKeys(),
      chainOf: () => ({ client: nodes, confirmations: CONFIRMATIONS }),
    }),
    settingsOf: () => undefined,
    policyProblems: async () => new Map(),
    policyStreamOf: () => '',
  }
  const quote = async () => {
    const policy = { minTipWei: MIN_TIP_WEI, maxTipWei: FEE_CAP_WEI, maxFeePerGasWei: FEE_CAP_WEI }
    const quoted = quoteFees({ baseFeePerGas: chain.baseFee(), tips: [] }, policy)
    if (quoted.type === 'quoted') return quoted.quote
    throw new Unavailable('fee_cap_exceeded', 'gas is dearer than the cap')
  }
  const { knowledge } = createOutsidePort(ports)
  const ctx: LaneContext = {
    log,
    lanes,
    check: (ids) => checkRecorded(checked, ids),
    signer: createSimulatedSigner(world, ports),
    clock: world.wallClock,
    keys: world.tagKeys(),
    config: { replaceAfterMs: REPLACE_AFTER_MS, maxInFlightPerLane: MAX_IN_FLIGHT },
    compare: compareOf(world, ports, log, node),
    deferred: createDeferred(world.databaseNow),
    logger: { warn: () => undefined },
    metrics: { count: () => undefined },
    leftAlone: () => undefined,
    onUnstorable: () => undefined,
    onRefused: (id, reason) => world.scheduler.note(`  signer: leaves ${id} alone: ${reason}`),
    newId: () => `tx_9${world.newNumber()}`,
    async countOf(lane) {
      const asked = { address: lane.address, block: (await knowledge(lane)).cursor, isFirst: false }
      return (await countsNow(nodes, asked)).agreed
    },
    laneChainOf: () => ({
      settings: { network: 'ethereum', minTipWei: 1n, maxFeePerGasWei: FEE_CAP_WEI },
      quote,
      gasRules: osakaRules,
      forkSince: async () => null,
      estimateGas: async (requests) => requests.map((request) => ({ ok: true, gasLimit: world.gasOf(request) })),
      neededGas: async () => null,
      emptyGas: async () => EMPTY_TRANSFER_GAS,
      observedBlock: async () => 0,
      refusedByToken: async (requests) => requests.map(() => false),
      kinds: KINDS,
    }),
  }
  return (lane: Lane, lease: Fence) => signLane(ctx, lane, lease)
}

function compareOf(world: World, ports: PortsOf, log: EventLog, node: Node): CompareLane {
  const nodes = oneNode(node)
  return brokenCompare(
    world,
    log,
    node,
    createCompareLane({
      log,
      outside: brokenReads(world, createOutsidePort(ports)),
      keys: world.tagKeys(),
      restoreState: async () => ({ untagged: world.untagged() }),
      chainOf: () => ({ client: nodes }),
      now: world.databaseNow,
      refusal: async () => null,
      onHeld: (_lane, cause) => world.scheduler.note(`  signer: held: ${heldText(cause)}`),
      onRecovered: (_lane, id, { nonce }) => world.scheduler.note(`  signer: finds ${id}@${nonce} on chain`),
    }),
  )
}

/** The clock used for the age of rows, and whether future rows count as old. */
function ageClock({ mutant, wallClock, databaseNow }: World) {
  return mutant.trustsClocks
    ? { databaseNow: wallClock, futureMs: Number.POSITIVE_INFINITY }
    : { databaseNow, futureMs: 60_000 }
}

function mutantLanes({ mutant }: World, lanes: ReturnType<typeof createLanePort>): typeof lanes {
  if (!mutant.forgetsNonces) return lanes
  return {
    ...lanes,
    room: async (lane, from, count) => ({
      ...(await lanes.room(lane, from, count)),
      nonces: Array.from({ length: count }, (_, index) => from + index),
    }),
  }
}

function createSubmitter(world: World, ports: PortsOf) {
  const log = createLogPort(ports)
  const node = nodeOf(world, ports)
  const client = {
    ...(world.mutant.trustsSilence ? trustingSilence(world, log, node) : node),
    transactionCount: async () => 0,
  }
  const ctx: Parameters<typeof submitLane>[0] = {
    log,
    lanes: createLanePort(ports),
    kinds: KINDS,
    chainOf: () => ({ client, agreed: node, relays: null }),
    lackGas: async (_, transactions) => transactions.map(() => false),
    config: { rebroadcastAfterMs: REBROADCAST_AFTER_MS },
    logger: { warn: () => undefined },
    onLeft: () => undefined,
  }
  return (lane: Lane, lease: Fence) => submitLane(ctx, lane, lease)
}
