/**
 * One history of a wallet that spends everything it has, with the production code of lane, submitter and follower: gas
 * turns out to be more than was reserved, fees rise and fall, and the lane signs while requests arrive. Processes die and
 * answers are lost; nodes are honest, demand the funds of all that they have, and no block leaves the chain.
 *
 * The laws: after every event the holds fit into the balance, no node misses funds, and in the end everything that was
 * accepted is paid.
 */
import { largest } from '../../src/core/money.ts'
import { type Commit, HoldRefused } from '../../src/event-log/append.ts'
import { createRandom } from '../support/load-random.ts'
import { type Actors, ROLES, startActors } from './actors.ts'
import { SimulatedChain, UNIT_WEI } from './chain.ts'
import { createHints } from './hints.ts'
import { checkHolders } from './holders.ts'
import { checkAccounts, checkDeadlines, checkFunds } from './invariants.ts'
import { HONEST, type Mutant } from './mutants.ts'
import { createQueues } from './queues.ts'
import { createNumbers, createScheduler } from './scheduler.ts'
import { LANES, TAG_KEYS } from './signer.ts'
import { createSpender } from './spender.ts'
import { createStore } from './store.ts'
import { CONFIRMATIONS, type World } from './terms.ts'
import { LawBroken } from './world.ts'

const STORM_STEPS: readonly [number, number] = [300, 900]
const MAX_CALM_STEPS = 12_000
const REQUESTS: readonly [number, number] = [4, 16]
const FIRST_FUNDS = 500_000_000n * UNIT_WEI
const DEPOSIT = 50_000_000n * UNIT_WEI
/** Whatever was signed for the gas that turned out to be needed can be mined at this price. */
const CALM_FEE = UNIT_WEI
/** Whatever the wallet has. */
const FAILURES = ['expired', 'dependency_failed']
const KEPT = ['signer 1', 'signer 2', 'submitter 1', 'follower 1', 'dispatcher', 'sweeper']

/** How many requests were accepted, and how often a signature was refused because a request had taken its funds. */
export type FundsOutcome = {
  readonly accepted: number
  readonly refused: number
  readonly settled: Readonly<Record<string, number>>
}

type Time = { now: number; storm: boolean; refused: number }

/** @throws LawBroken */
export async function simulateFunds(seed: number, mutant: Mutant = HONEST): Promise<FundsOutcome> {
  const time = { now: Date.parse('2026-11-21T12:00:00.000Z'), storm: true, refused: 0 }
  const problems: string[] = []
  const { world, actors } = createWorld(seed, mutant, time, problems)
  const { random, scheduler, chain, store } = world
  const storm = random.between(...STORM_STEPS)
  for (let steps = 0; steps < storm && problems.length === 0; steps += 1) {
    if (random.chance(0.25)) disturb(world, actors, time)
    else await scheduler.step(true)
  }
  scheduler.note('--- calm ---')
  time.storm = false
  chain.setBaseFee(CALM_FEE)
  for (let calm = 0; problems.length === 0; calm += 1) {
    if (calm % 10 === 0) time.now += 1_000
    if (calm % 40 === 0) chain.mine({ room: 8, whims: false })
    await scheduler.step(false)
    if (calm % 20 === 0 && actors.isAtRest()) break
    if (calm > MAX_CALM_STEPS) world.broken(`nothing comes to rest: ${actors.unrest()}`)
  }
  actors.stop()
  for (const { transaction_id: id, failure } of store.transactions.values()) {
    const { code = null } = (failure ?? {}) as { readonly code?: string }
    if (code !== null && !FAILURES.includes(code)) world.broken(`${id} was accepted, and failed as ${code}`)
  }
  if (problems.length > 0) throw new LawBroken(describe(seed, mutant, problems, scheduler.trace))
  const settled: Record<string, number> = {}
  for (const { state } of store.transactions.values()) settled[state] = (settled[state] ?? 0) + 1
  return { accepted: world.accepted.length, refused: time.refused, settled }
}

function createWorld(seed: number, mutant: Mutant, time: Time, problems: string[]): { world: World; actors: Actors } {
  const random = createRandom(seed)
  const scheduler = createScheduler(random)
  const broken = (problem: string) => void problems.push(problem)
  const store = createStore(
    mutant.laws,
    () => time.now,
    (commit) => {
      checkAccounts(world, commit)
      checkDeadlines(world, commit)
      checkHolders(world, commit)
      checkFunds(world)
      for (const { canonical } of commit.decisions.flatMap(({ events }) => events))
        if (canonical.includes('"type":"TransactionAwaitingFunds"'))
          broken('a node misses the funds of what was signed')
    },
  )
  const world: World = {
    random,
    scheduler,
    store: { ...store, append: (commit) => countRefused(time, commit, store.append) },
    chain: new SimulatedChain(random, CONFIRMATIONS, () => time.now),
    queues: createQueues(random, () => time.storm),
    hints: createHints(random, scheduler, () => time.storm),
    atOnce: random.between(1, 2),
    mutant,
    lanes: LANES.slice(0, 1),
    requests: random.between(...REQUESTS),
    keptHashes: 512,
    accepted: [],
    newNumber: createNumbers(),
    wallClock: () => time.now,
    databaseNow: () => time.now,
    faults: () => false,
    broken,
    onSent: () => undefined,
    isLate: () => false,
    onAnswer: () => undefined,
    gasOf: ({ mostGas, leastGas = 21_000n }) =>
      random.chance(0.5) ? leastGas : largest(leastGas, (mostGas * BigInt(random.between(50, 100))) / 100n),
    tagKeys: () => TAG_KEYS,
    untagged: () => false,
  }
  world.chain.demandFunds()
  for (const lane of world.lanes) world.chain.deposit(lane, FIRST_FUNDS)
  for (let block = 0; block < CONFIRMATIONS + 1; block += 1) world.chain.mine({ room: LANES.length, whims: false })
  const roles = [
    ...ROLES.filter(([name]) => KEPT.includes(name)),
    ['owner', createSpender(() => time.storm && store.cursor() !== null)] as const,
  ]
  return { world, actors: startActors(world, roles) }
}

function countRefused(time: Time, commit: Commit, append: (commit: Commit) => void): void {
  try {
    append(commit)
  } catch (error) {
    const isSigned = commit.decisions.some(({ after }) => (after.state as { attempts?: unknown[] }).attempts?.length)
    if (error instanceof HoldRefused && isSigned) time.refused += 1
    throw error
  }
}

type Disturbance = (world: World, actors: Actors, time: Time) => void

/** Events outside the processes, and their frequency. */
const DISTURBANCES: readonly (readonly [number, Disturbance])[] = [
  [30, ({ random }, _actors, time) => (time.now += random.pick([500, 3_000, 12_000, 40_000]))],
  [30, ({ chain, random }) => chain.mine({ room: random.between(0, 4), whims: true })],
  [10, ({ chain, random }) => chain.setBaseFee(random.pick([1n, 10n, 20n, 60n, 200n]) * UNIT_WEI)],
  [3, ({ chain }) => chain.forgetPool()],
  [4, ({ chain, lanes }) => chain.deposit(lanes[0] ?? '', DEPOSIT)],
  [2, (_world, actors) => actors.killAny()],
  [1, ({ queues }) => queues.empty()],
]

const TOTAL = DISTURBANCES.reduce((sum, [weight]) => sum + weight, 0)

function disturb(world: World, actors: Actors, time: Time): void {
  let roll = world.random.next() * TOTAL
  for (const [weight, happen] of DISTURBANCES) {
    roll -= weight
    if (roll > 0) continue
    world.scheduler.note(`  outside: ${weight}`)
    return void happen(world, actors, time)
  }
}

function describe(seed: number, mutant: Mutant, problems: readonly string[], trace: readonly string[]): string {
  return [
    `seed ${seed}${mutant === HONEST ? '' : ` (${mutant.name})`}: ${problems.join('; ')}`,
    `Again with: SIMULATION_SEED=${seed} SIMULATION_HISTORIES=1 npm run test:file -- test/integration/simulated-funds.test.ts`,
    ...trace,
  ].join('\n')
}
