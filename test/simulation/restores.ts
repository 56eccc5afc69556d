/**
 * One history of a service whose database goes back: the production code of lane, submitter, follower and operator
 * over an in-memory log, chain and queues, while another program sends equal payments with the same key, blocks leave
 * the chain and clocks step. First a storm; then calm, in which everything must come to rest.
 *
 * Not in it, because README says that it is not guaranteed: forgotten bytes that no node showed when the lane was
 * compared and that are mined later, and reorgs deeper than the confirmations.
 */
import type { Commit } from '../../src/event-log/commit.ts'
import { createRandom, type Random } from '../support/load-random.ts'
import { type Actors, ROLES, type Roles, startActors } from './actors.ts'
import { GAS_USED, isOwn, SimulatedChain, UNIT_WEI, type Wire } from './chain.ts'
import { AMOUNTS, clientsWait, createClients, createOperator, RECIPIENT, type Service } from './clients.ts'
import { HONEST, type Mutant } from './mutants.ts'
import { createQueues } from './queues.ts'
import { checkAppended, checkPayments } from './restore-laws.ts'
import { createNumbers, createScheduler } from './scheduler.ts'
import { LANES, signWire, TAG_KEYS } from './signer.ts'
import { createStore } from './store.ts'
import { CHAIN_ID, CONFIRMATIONS, type World } from './terms.ts'
import { createTruth, eventsOf, type Fact, type Truth } from './truth.ts'
import { LawBroken } from './world.ts'

const STORM_STEPS: readonly [number, number] = [300, 700]
const MAX_CALM_STEPS = 8_000
const ORDERS: readonly [number, number] = [3, 7]
const FUNDS = 10n ** 9n * UNIT_WEI * GAS_USED
const AFTERMATH = 200
const MAX_RESTORES = 3
const MINUTE = 60_000
const MAX_JUDGED = 3
const STEPS = [-15, 15, -60, 60, -14_400, 14_400].map((minutes) => minutes * MINUTE)
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

type Scene = {
  readonly world: World
  readonly service: Service
  readonly actors: Actors
  readonly time: { now: number; skew: number; storm: boolean }
  readonly old: { readonly isOld: boolean; tags: boolean; untagged: boolean; upgradeAt: number; firstCommit: number }
  restores: number
  isShaken: boolean
  steps: number
  calmUntil: number
  /** The step of the newest restore. */
  restoredAt: number
}

/** @throws LawBroken */
export async function simulateRestores(seed: number, mutant: Mutant = HONEST): Promise<RestoreOutcome> {
  const problems: string[] = []
  const scene = createScene(seed, mutant, problems)
  const { world, service, actors, time, old } = scene
  const { random, scheduler, chain } = world
  const { truth } = service
  const storm = random.between(...STORM_STEPS)
  let steps = 0
  // Some time after a restore belongs to the storm too, so that what it forgot is found in it.
  for (; steps < Math.max(storm, scene.restoredAt + AFTERMATH) && problems.length === 0; steps += 1) {
    const { restores } = scene
    scene.steps = steps
    if (random.chance(0.2)) disturb(scene)
    else await scheduler.step(true)
    if (old.firstCommit === 0 && isFollowed(world)) old.firstCommit = world.store.commits().length
    if (old.isOld && !old.tags && steps > storm / 2) upgrade(scene)
    if (steps === storm - 1 && scene.restores === 0) restore(scene)
    if (scene.restores > restores) scene.restoredAt = steps
    if (scene.restoredAt === steps && random.chance(0.5)) scene.calmUntil = steps + AFTERMATH
  }
  scheduler.note('--- calm ---')
  time.storm = false
  chain.setBaseFee(10n * UNIT_WEI)
  chain.outgrow()
  for (let calm = 0; problems.length === 0; calm += 1) {
    if (calm % 10 === 0) time.now += 1_000
    // What was set aside is tried again within ten minutes.
    if (calm % 500 === 499) time.now += 2 * MINUTE
    // Slower while something waits to be found: what is found is then in a block that may still leave the chain.
    if (calm % (truth.awaitsClaim() || (calm < 600 && truth.hasLost()) ? 240 : 60) === 0)
      chain.mine({ room: 8, whims: false })
    if (calm % 5 === 0) shake(scene)
    await scheduler.step(false)
    if (calm % 20 === 0 && actors.isAtRest() && !clientsWait(service, world)) break
    if (calm > MAX_CALM_STEPS) world.broken(`nothing comes to rest: ${actors.unrest()}`)
    steps += 1
  }
  actors.stop()
  truth.noteForeignPayments()
  if (problems.length === 0) checkPayments(world, truth, old.isOld)
  if (problems.length > 0) throw new LawBroken(describe(seed, mutant, problems, scheduler.trace))
  const requests = new Set([...truth.orderOf.keys()].map(truth.nameOf)).size
  return { steps, facts: [...truth.facts], requests, held: truth.held.size, isOld: old.isOld }
}

function createScene(seed: number, mutant: Mutant, problems: string[]): Scene {
  const random = createRandom(seed)
  const scheduler = createScheduler(random)
  const time = { now: Date.parse('2026-11-21T12:00:00.000Z'), skew: 0, storm: true }
  const isOld = random.chance(0.15)
  const old = { isOld, tags: !isOld, untagged: false, upgradeAt: 0, firstCommit: 0 }
  const chain = new SimulatedChain(random, CONFIRMATIONS, () => time.now)
  const store = createStore(
    mutant.laws,
    () => time.now,
    (commit) => {
      const events = eventsOf(commit)
      truth.noteAppended(events)
      checkAppended(world, truth, events)
    },
  )
  const truth: Truth = createTruth({ chain, store })
  const requests = random.between(...ORDERS)
  const world: World = {
    random,
    scheduler,
    store,
    chain,
    queues: createQueues(random, () => time.storm),
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
    tagKeys: () => (old.tags ? TAG_KEYS : UNKNOWN_KEYS),
    untagged: () => old.untagged,
  }
  const service: Service = {
    truth,
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

type Disturbance = (scene: Scene) => unknown

const DISTURBANCES: readonly (readonly [number, Disturbance])[] = [
  [
    30,
    ({ world: { random, scheduler }, time }) => {
      const passed = random.pick([500, 3_000, 12_000, 65_000])
      time.now += passed
      scheduler.note(`  clock: +${passed} ms`)
    },
  ],
  [30, grow],
  [10, (scene) => isCalm(scene) || reorg(scene.world, scene.service.truth)],
  [4, ({ world: { chain, random } }) => chain.setBaseFee(random.pick([10n, 10n, 20n, 100n]) * UNIT_WEI)],
  [2, ({ world: { chain } }) => chain.forgetPool()],
  [8, payElsewhere],
  [
    3,
    ({ world: { random, scheduler }, time }) => {
      time.skew = random.pick([0, ...STEPS])
      scheduler.note(`  clock: stands ${time.skew / 1_000} s from the truth`)
    },
  ],
  [2, ({ actors }) => actors.killAny()],
  [4, (scene) => (scene.world.chain.sent().some(isOwn) || scene.world.random.chance(0.1)) && restore(scene)],
]

const TOTAL = DISTURBANCES.reduce((sum, [weight]) => sum + weight, 0)

function disturb(scene: Scene): void {
  let roll = scene.world.random.next() * TOTAL
  for (const [weight, happen] of DISTURBANCES) {
    roll -= weight
    if (roll > 0) continue
    happen(scene)
    return
  }
}

/** For a while after some restores the chain stands still: what is found is then in blocks that may still leave it. */
function isCalm({ steps, calmUntil }: Scene): boolean {
  return steps < calmUntil
}

function grow(scene: Scene): void {
  if (isCalm(scene)) return
  const { chain, random } = scene.world
  mine(scene.world, random.between(0, 4))
  if (chain.head().transactions.some(isOwn) && random.chance(0.25)) restore(scene)
}

function mine({ chain, scheduler }: World, room: number): void {
  chain.mine({ room, whims: true })
  const { number, hash, transactions } = chain.head()
  const content = transactions.map((wire) => `${wire.signedFor}@${wire.nonce}:${wire.hash.slice(-6)}`).join(' ')
  scheduler.note(`  chain: block ${number} ${hash.slice(-6)} with ${content || 'nothing'}`)
}

function reorg(world: World, truth: Truth): void {
  const { chain, random, scheduler } = world
  const room = chain.reorgRoom()
  const claimed = truth.depthOfClaim()
  const wanted = claimed !== null && random.chance(0.7) ? claimed : random.pick([1, 1, 2, 3])
  const depth = Math.min(wanted, room)
  if (depth <= 0) return
  truth.noteReorg(chain.blocks().slice(-depth))
  const taken = chain.reorg(depth, random.pick([0, 0.5, 1]))
  scheduler.note(`  chain: reorg of depth ${taken}`)
  for (let block = random.between(0, taken + 1); block > 0; block -= 1) mine(world, random.between(0, 3))
}

/** Even in the calm, a block leaves the chain once with what was just found in it. */
function shake(scene: Scene): void {
  const { world, service } = scene
  const depth = service.truth.depthOfClaim()
  if (scene.isShaken || depth === null || depth > world.chain.reorgRoom()) return
  scene.isShaken = true
  reorg(world, service.truth)
  world.chain.outgrow()
}

/** Another program with the same key pays the same, sometimes with the nonce that a request has. */
function payElsewhere({ world, service, old }: Scene): void {
  const { chain, random, store, scheduler } = world
  // Each request is judged beside each of them.
  if (old.isOld && service.truth.foreignPayments() >= MAX_JUDGED) return
  const [from = ''] = world.lanes
  const given = [...store.transactions.values()].flatMap(({ nonce, block_number }) =>
    nonce !== null && block_number === null ? [nonce] : [],
  )
  // An older version would have taken an equal transaction with its own nonce for its own: that is not what is tested.
  const isContest = old.tags && given.length > 0 && random.chance(0.4)
  const nonce = isContest ? random.pick(given) : chain.pendingCount(from)
  const fee = chain.baseFee() * BigInt(random.between(3, 60)) + BigInt(random.between(0, 0xffff))
  const fees = { gasLimit: GAS_USED, maxFeePerGas: fee, maxPriorityFeePerGas: fee }
  const call = { to: RECIPIENT, value: random.pick(AMOUNTS), data: '0x' }
  const wire = signWire(from, { chainId: CHAIN_ID, nonce, ...call, ...fees }, null)
  const answer = chain.take(wire)
  service.truth.noteForeign(wire)
  scheduler.note(`  chain: another program pays ${call.value} with nonce ${nonce}, ${wire.hash.slice(-6)}: ${answer}`)
}

/** Mostly just before something that matters, and otherwise any: how many commits are kept. */
function pointOf(random: Random, commits: readonly Commit[], first: number): number {
  const wanted = random.pick([
    'TransactionSigned',
    'TransactionSigned',
    'TransactionReplaced',
    'TransferRequested',
    null,
  ])
  const fitting = commits.flatMap((commit, index) =>
    index >= first && eventsOf(commit).some(({ type }) => type === wanted) ? [index] : [],
  )
  const newest = fitting.at(-1)
  if (newest !== undefined) return random.chance(0.6) ? newest : random.pick(fitting)
  return random.chance(0.75) ? commits.length - random.between(1, 8) : random.between(first, commits.length - 1)
}

/** A failover to a copy that lagged, or a restore of an older state. */
function restore(scene: Scene): void {
  const { world, service, actors, time, old } = scene
  const { store, random, scheduler, queues } = world
  const commits = store.commits()
  if (old.firstCommit === 0 || commits.length <= old.firstCommit || scene.restores >= MAX_RESTORES) return
  // One version at a time: evidence of untagged signatures comes with the restore that crosses the upgrade.
  if (!old.tags) return
  const to = Math.max(old.firstCommit, pointOf(random, commits, old.firstCommit))
  if (to < old.upgradeAt) old.untagged = true
  const forgotten = store.restore(to)
  scene.restores += 1
  if (random.chance(0.4)) {
    time.skew = random.pick(STEPS)
    service.truth.facts.add('clock step across a restore')
  }
  scheduler.note(
    `--- the database forgets ${forgotten.length} of ${commits.length} commits, the clock stands at ${time.skew / 1_000} s`,
  )
  service.truth.noteForgotten(forgotten)
  queues.commit(Math.min(queues.checkpoint(), store.events.length))
  for (let kills = random.between(0, 3); kills > 0; kills -= 1) actors.killAny()
}

/** The older version stops, the database goes back to one of its backups, and the new version starts. */
function upgrade(scene: Scene): void {
  const { world, old, actors } = scene
  if (old.firstCommit === 0) return
  old.tags = true
  actors.killAll()
  old.upgradeAt = world.store.commits().length
  world.scheduler.note('--- the service is upgraded')
  if (world.random.chance(0.7)) restore(scene)
}

function describe(seed: number, mutant: Mutant, problems: readonly string[], trace: readonly string[]): string {
  return [
    `seed ${seed}${mutant === HONEST ? '' : ` (${mutant.name})`}: ${problems.join('; ')}`,
    `Again with: SIMULATION_SEED=${seed} SIMULATION_HISTORIES=1 npm run test:long -- simulation-restores`,
    ...trace,
  ].join('\n')
}
