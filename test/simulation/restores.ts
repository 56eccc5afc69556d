/**
 * One history of a service whose database goes back: the production code of lane, submitter, follower and operator
 * over an in-memory log, chain and queues, while another program sends equal payments with the same key, blocks leave
 * the chain and clocks step. First a storm; then calm, in which everything must come to rest.
 *
 * Not in it, because README says that it is not guaranteed: forgotten bytes that no node showed when the lane was
 * compared and that are mined later, and reorgs deeper than the confirmations.
 */
import { createRandom } from '../support/load-random.ts'
import { ROLES, type Roles, startActors } from './actors.ts'
import { GAS_USED, SimulatedChain, UNIT_WEI, type Wire } from './chain.ts'
import { clientsWait, createClients, createOperator, type Service } from './clients.ts'
import { createFacts, type Fact, type Facts } from './facts.ts'
import { createHints } from './hints.ts'
import { HONEST, type Mutant } from './mutants.ts'
import { createQueues } from './queues.ts'
import { checkAppended, checkPayments } from './restore-laws.ts'
import { CLOCK_STEPS, disturb, restore, type Scene, shake, upgrade } from './restore-storm.ts'
import { createNumbers, createScheduler } from './scheduler.ts'
import { LANES, TAG_KEYS } from './signer.ts'
import { createStore } from './store.ts'
import { CONFIRMATIONS, type World } from './terms.ts'
import { createTruth, eventsOf, type Truth } from './truth.ts'
import { LawBroken } from './world.ts'

const STORM_STEPS: readonly [number, number] = [400, 900]
const MAX_CALM_STEPS = 20_000
const ORDERS: readonly [number, number] = [3, 7]
const FUNDS = 10n ** 9n * UNIT_WEI * GAS_USED
const AFTERMATH = 200
/** An older version signs without a tag: with one that no later version knows, which is the same. */
const UNKNOWN_KEYS = [Buffer.alloc(32, 99)] as const

export type RestoreOutcome = {
  readonly steps: number
  readonly facts: readonly Fact[]
  readonly requests: number
  readonly held: number
  /** Whether an older version, without tags, signed in it. */
  readonly isOld: boolean
}

/** @throws LawBroken */
export async function simulateRestores(seed: number, mutant: Mutant = HONEST): Promise<RestoreOutcome> {
  const problems: string[] = []
  const scene = createScene(seed, mutant, problems)
  const { world, service, actors, old } = scene
  const { truth, facts } = service
  const steps = (await storm(scene, problems)) + (await calm(scene, problems))
  actors.stop()
  facts.foreign.settle()
  if (problems.length === 0) checkPayments(world, service, old.isOld)
  if (problems.length > 0) throw new LawBroken(describe(seed, mutant, problems, world.scheduler.trace))
  const requests = new Set([...truth.orderOf.keys()].map(truth.nameOf)).size
  return { steps, facts: [...facts.seen], requests, held: facts.held.size, isOld: old.isOld }
}

async function storm(scene: Scene, problems: readonly string[]): Promise<number> {
  const { world, old } = scene
  const { random, scheduler } = world
  const length = random.between(...STORM_STEPS)
  let steps = 0
  // Some time after a restore belongs to the storm too, so that what it forgot is found in it.
  for (; steps < Math.max(length, scene.restoredAt + AFTERMATH) && problems.length === 0; steps += 1) {
    const { restores } = scene
    scene.steps = steps
    if (random.chance(0.2)) disturb(scene)
    else await scheduler.step(true)
    if (steps % 5 === 0) shake(scene)
    if (old.firstCommit === 0 && isFollowed(world)) old.firstCommit = world.store.commits().length
    if (old.isOld && !old.tags && steps > length / 2) upgrade(scene)
    if (steps === length - 1 && scene.restores === 0) restore(scene)
    if (scene.restores > restores) scene.restoredAt = steps
    if (scene.restoredAt === steps && random.chance(0.5)) scene.calmUntil = steps + AFTERMATH
  }
  return steps
}

async function calm(scene: Scene, problems: readonly string[]): Promise<number> {
  const { world, service, actors, time } = scene
  const { chain, scheduler, broken } = world
  const { truth } = service
  scheduler.note('--- calm ---')
  time.storm = false
  chain.setBaseFee(10n * UNIT_WEI)
  chain.outgrow()
  let steps = 0
  for (; problems.length === 0; steps += 1) {
    if (steps % 10 === 0) time.now += 1_000
    // What was set aside is tried again within ten minutes.
    if (steps % 500 === 499) time.now += 120_000
    // Slower while something waits to be found: what is found is then in a block that may still leave the chain.
    const isSlow = () => truth.awaitsClaim() || (steps < 600 && truth.hasLost())
    if (steps % 60 === 0 && (steps % 240 === 0 || !isSlow())) chain.mine({ room: 8, whims: false })
    if (steps % 5 === 0) shake(scene)
    await scheduler.step(false)
    if (steps % 20 === 0 && actors.isAtRest() && !clientsWait(service, world)) break
    if (steps > MAX_CALM_STEPS) broken(`nothing comes to rest: ${actors.unrest()}`)
  }
  return steps
}

function createScene(seed: number, mutant: Mutant, problems: string[]): Scene {
  const random = createRandom(seed)
  const scheduler = createScheduler(random)
  const time = {
    now: Date.parse('2026-11-21T12:00:00.000Z'),
    skew: random.chance(0.4) ? random.pick(CLOCK_STEPS) : 0,
    storm: true,
  }
  const isOld = random.chance(0.15)
  const old = { isOld, tags: !isOld, untagged: false, upgradeAt: 0, firstCommit: 0 }
  const chain = new SimulatedChain(random, CONFIRMATIONS, () => time.now)
  const store = createStore(
    mutant.laws,
    () => time.now,
    (commit) => {
      const events = eventsOf(commit)
      facts.noteAppended(events)
      checkAppended(world, truth, events)
    },
  )
  const truth: Truth = createTruth({ chain, store })
  const facts: Facts = createFacts({ chain, store, truth })
  const requests = random.between(...ORDERS)
  const world: World = {
    random,
    scheduler,
    store,
    chain,
    queues: createQueues(random, () => time.storm),
    hints: createHints(random, scheduler, () => time.storm),
    atOnce: random.between(1, 2),
    mutant,
    lanes: LANES.slice(0, 1),
    requests,
    keptHashes: 512,
    accepted: [],
    newNumber: createNumbers(),
    wallClock: () => time.now + time.skew,
    databaseNow: () => time.now,
    faults: () => time.storm,
    broken: (problem) => void problems.push(problem),
    onSent: () => undefined,
    isLate: (wire) => !isRecorded(world, wire),
    onAnswer: ({ method, params }, value) => {
      if (method === 'eth_getTransactionCount' && params[1] === 'pending') buryUnseen(world, truth)
      if (method === 'eth_getTransactionByHash' && value === null) buryUnseen(world, truth)
    },
    gasOf: () => GAS_USED,
    tagKeys: () => (old.tags ? TAG_KEYS : UNKNOWN_KEYS),
    untagged: () => old.untagged,
  }
  const service: Service = {
    truth,
    facts,
    tags: () => old.tags,
    isOpen: () => time.storm && truth.orders.length < requests && store.balanceRows.size > 0,
  }
  for (const lane of world.lanes) chain.deposit(lane, FUNDS)
  for (let block = 0; block < CONFIRMATIONS + 1; block += 1) chain.mine({ room: LANES.length, whims: false })
  return {
    world,
    service,
    actors: startActors(world, rolesOf(service)),
    time,
    old,
    restores: 0,
    isShaken: false,
    steps: 0,
    calmUntil: 0,
    restoredAt: Number.NEGATIVE_INFINITY,
  }
}

/** As in the other simulation, with these clients and an operator, and one of each process where two add nothing. */
function rolesOf(service: Service): Roles {
  const kept = ['signer 1', 'signer 2', 'submitter 1', 'follower 1', 'dispatcher', 'sweeper']
  return [
    ...ROLES.filter(([name]) => kept.includes(name)),
    ['owner', createClients(service)],
    ['operator', createOperator(service)],
  ]
}

function isFollowed({ store }: World): boolean {
  return store.balanceRows.size > 0 && store.cursor() !== null
}

function isRecorded({ store }: World, { hash }: Wire): boolean {
  return [...store.transactions.values()].some(({ hashes }) => hashes.includes(hash))
}

/**
 * Forgotten bytes that nodes do not show to a signer that asks are never mined: README, "Not guaranteed". Those whose
 * nonce their request still has can be: it is signed with no other one.
 */
function buryUnseen({ chain, store }: World, truth: Truth): void {
  const shown = new Set(chain.blocks().flatMap(({ transactions }) => transactions.map(({ hash }) => hash)))
  for (const wire of chain.pooled()) if (wire.nonce < chain.pendingCount(wire.from)) shown.add(wire.hash)
  for (const wire of chain.sent()) {
    if (wire.signedFor === null || shown.has(wire.hash)) continue
    const isKnown = [...store.transactions.values()].some(
      (row) => row.hashes.includes(wire.hash) || (row.nonce === wire.nonce && truth.isOf(wire, row.transaction_id)),
    )
    if (!isKnown) chain.bury(wire.hash)
  }
}

function describe(seed: number, mutant: Mutant, problems: readonly string[], trace: readonly string[]): string {
  return [
    `seed ${seed}${mutant === HONEST ? '' : ` (${mutant.name})`}: ${problems.join('; ')}`,
    `Again with: SIMULATION_SEED=${seed} SIMULATION_HISTORIES=1 npm run test:long -- simulation-restores`,
    ...trace,
  ].join('\n')
}
