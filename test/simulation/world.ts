/**
 * One schedule: the production code of lane, submitter, follower and dispatcher over an in-memory log, chain and
 * queues. First a storm with all faults of the seed; then calm, in which everything must come to rest.
 */
import { createRandom } from '../support/load-random.ts'
import { type Actors, startActors } from './actors.ts'
import { GAS_USED, SimulatedChain, UNIT_WEI } from './chain.ts'
import { createHints } from './hints.ts'
import { checkHolders } from './holders.ts'
import { checkAccounts, checkDeadlines, checkRest, checkWire } from './invariants.ts'
import { HONEST, type Mutant } from './mutants.ts'
import { createQueues } from './queues.ts'
import { createNumbers, createScheduler } from './scheduler.ts'
import { LANES, signWire, TAG_KEYS } from './signer.ts'
import { createStore } from './store.ts'
import { CHAIN_ID, CONFIRMATIONS, type World } from './terms.ts'

const STORM_STEPS: readonly [number, number] = [300, 1_200]
/** As in production, and few enough that reorgs reach deeper. */
const KEPT_HASHES = [512, 8]
const MAX_CALM_STEPS = 12_000
/** Requests per lane: enough to interact, few enough to read in a trace. */
const REQUESTS: readonly [number, number] = [2, 6]
/** Wei: enough for two of the large transfers (owner.ts), so that their holds compete. */
const FIRST_FUNDS = 500_000_000n * UNIT_WEI
const DEPOSITS = [1_000n, 50_000_000n, 200_000_000n].map((amount) => amount * UNIT_WEI)
/** Enough for the fees that were reached during the storm. */
const CALM_FUNDS = 10n ** 10n * UNIT_WEI
const ENDED: readonly string[] = ['confirmed', 'reverted', 'failed', 'cancelled']

/** A violated law; the message contains the seed and every step that led to it. */
export class LawBroken extends Error {}

export type Outcome = { readonly steps: number; readonly settled: Readonly<Record<string, number>> }

/** @throws LawBroken */
export async function simulate(seed: number, mutant: Mutant = HONEST): Promise<Outcome> {
  const time = { now: Date.parse('2026-11-21T12:00:00.000Z'), skew: 0, storm: true }
  const problems: string[] = []
  const { world, actors } = createWorld(seed, mutant, time, problems)
  const { random, scheduler } = world
  const fail = () => new LawBroken(describe(seed, mutant, problems, scheduler.trace))
  const storm = random.between(...STORM_STEPS)
  let steps = 0
  for (; steps < storm && problems.length === 0; steps += 1) {
    if (random.chance(0.25)) disturb(world, actors, time)
    else await scheduler.step(true)
  }
  scheduler.note('--- calm ---')
  time.storm = false
  world.chain.setBaseFee(10n * UNIT_WEI)
  // Balances read ahead of the follower, on an abandoned branch, are checked again when it reaches that height.
  world.chain.outgrow()
  for (let calm = 0; problems.length === 0; calm += 1) {
    if (calm % 10 === 0) tick(world, time, 1_000)
    if (calm % 400 === 0) payForWhatWaits(world)
    if (calm % 40 === 0) world.chain.mine({ room: 8, whims: false })
    await scheduler.step(false)
    if (calm % 20 === 0 && actors.isAtRest()) break
    if (calm > MAX_CALM_STEPS) world.broken(`nothing comes to rest: ${actors.unrest()}`)
    steps += 1
  }
  actors.stop()
  if (problems.length === 0) checkRest(world)
  if (problems.length > 0) throw fail()
  const settled: Record<string, number> = {}
  for (const { state } of world.store.transactions.values()) settled[state] = (settled[state] ?? 0) + 1
  return { steps, settled }
}

/** Fees may have risen above a wallet's balance, and a reorg may have removed its deposit. */
function payForWhatWaits({ lanes, store, chain }: World): void {
  const waits = [...store.transactions.values()].filter(({ state }) => !ENDED.includes(state))
  for (const lane of lanes) if (waits.some(({ from_address: from }) => from === lane)) chain.deposit(lane, CALM_FUNDS)
}

type Time = { now: number; skew: number; storm: boolean }

function createWorld(seed: number, mutant: Mutant, time: Time, problems: string[]): { world: World; actors: Actors } {
  const random = createRandom(seed)
  const scheduler = createScheduler(random)
  const world: World = {
    random,
    scheduler,
    store: createStore(
      mutant.laws,
      () => time.now,
      (commit) => {
        checkAccounts(world, commit)
        checkDeadlines(world, commit)
        checkHolders(world, commit)
      },
    ),
    chain: new SimulatedChain(random, CONFIRMATIONS, () => time.now),
    queues: createQueues(random, () => time.storm),
    hints: createHints(random, scheduler, () => time.storm),
    atOnce: random.between(1, 2),
    mutant,
    lanes: LANES.slice(0, random.between(1, LANES.length)),
    requests: random.between(...REQUESTS),
    keptHashes: random.pick(KEPT_HASHES),
    accepted: [],
    newNumber: createNumbers(),
    wallClock: () => time.now + time.skew,
    databaseNow: () => time.now,
    faults: () => time.storm,
    broken: (problem) => void problems.push(problem),
    onSent: (wire) => checkWire(world, wire),
    isLate: () => false,
    onAnswer: () => undefined,
    gasOf: () => GAS_USED,
    tagKeys: () => TAG_KEYS,
    untagged: () => false,
  }
  for (const lane of world.lanes) world.chain.deposit(lane, FIRST_FUNDS)
  for (let block = 0; block < CONFIRMATIONS + 1; block += 1) world.chain.mine({ room: LANES.length, whims: false })
  return { world, actors: startActors(world) }
}

function tick({ scheduler }: World, time: Time, milliseconds: number): void {
  time.now += milliseconds
  scheduler.note(`  clock: +${milliseconds} ms`)
}

/** Depths of the blocks with recorded transactions: a reorg that removes one of them undoes records. */
function depthsOfRecorded({ store, chain }: World): number[] {
  const head = chain.head().number
  return [...store.transactions.values()].flatMap(({ block_number: block }) =>
    block === null ? [] : [head - block + 1],
  )
}

type Disturbance = (world: World, actors: Actors, time: Time) => void

/** Events outside the processes, and their frequency. */
const DISTURBANCES: readonly (readonly [number, Disturbance])[] = [
  [40, (world, _actors, time) => tick(world, time, world.random.pick([500, 3_000, 12_000, 40_000]))],
  [
    40,
    ({ chain, random, scheduler }) => {
      chain.mine({ room: random.between(0, 4), whims: true })
      const { number, hash, transactions } = chain.head()
      scheduler.note(
        `  chain: block ${number} ${hash.slice(-6)} with ${transactions.map((wire) => wire.hash.slice(-6)).join(' ') || 'nothing'}`,
      )
    },
  ],
  [
    10,
    (world) => {
      const { chain, random, scheduler, keptHashes } = world
      const taken = chain.reorg(
        random.pick([1, 1, 2, 3, CONFIRMATIONS + 2, keptHashes + 3, ...depthsOfRecorded(world)]),
        random.pick([0, 0, 0.5, 1]),
      )
      scheduler.note(`  chain: reorg of depth ${taken}`)
      for (let block = random.between(0, taken + 1); block > 0; block -= 1)
        chain.mine({ room: random.between(0, 3), whims: true })
    },
  ],
  [
    4,
    ({ chain, random, scheduler }) => {
      chain.setBaseFee(random.pick([10n, 10n, 20n, 100n, 1_000n]) * UNIT_WEI)
      scheduler.note(`  chain: base fee ${chain.baseFee()}`)
    },
  ],
  [
    3,
    ({ chain, scheduler }) => {
      chain.forgetPool()
      scheduler.note('  chain: the pool is forgotten')
    },
  ],
  [
    2,
    ({ chain, random, lanes, scheduler }) => {
      const from = random.pick(lanes)
      const fee = chain.baseFee() * 20n
      const fees = { gasLimit: GAS_USED, maxFeePerGas: fee, maxPriorityFeePerGas: fee }
      const nonce = chain.head().counts.get(from) ?? 0
      // Two foreign transactions with the same bytes would be one.
      const call = { to: from, value: BigInt(chain.sent().length), data: '0x' }
      chain.take(signWire(from, { chainId: CHAIN_ID, nonce, ...call, ...fees }, null))
      scheduler.note(`  chain: a stranger sends from ${from.slice(0, 6)}`)
    },
  ],
  [
    2,
    ({ random, scheduler }, _actors, time) => {
      time.skew = random.pick([-3_600_000, 0, 0, 3_600_000])
      scheduler.note(`  clock: stands ${time.skew / 1_000} s from the truth`)
    },
  ],
  [
    5,
    ({ chain, random, lanes, scheduler }) => {
      const to = random.pick(lanes)
      chain.deposit(to, random.pick(DEPOSITS))
      scheduler.note(`  chain: somebody pays ${to.slice(0, 6)}`)
    },
  ],
  [3, (_world, actors) => actors.killAny()],
  [
    1,
    ({ queues, scheduler }) => {
      queues.empty()
      scheduler.note('  queues: emptied')
    },
  ],
]

const TOTAL = DISTURBANCES.reduce((sum, [weight]) => sum + weight, 0)

function disturb(world: World, actors: Actors, time: Time): void {
  let roll = world.random.next() * TOTAL
  for (const [weight, happen] of DISTURBANCES) {
    roll -= weight
    if (roll > 0) continue
    happen(world, actors, time)
    return
  }
}

function describe(seed: number, mutant: Mutant, problems: readonly string[], trace: readonly string[]): string {
  return [
    `seed ${seed}${mutant === HONEST ? '' : ` (${mutant.name})`}: ${problems.join('; ')}`,
    `Again with: SIMULATION_SEED=${seed} SIMULATION_SCHEDULES=1 npm run test:long -- simulation`,
    ...trace,
  ].join('\n')
}
