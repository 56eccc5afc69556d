/** What happens around the service in a history with restores: time, blocks, reorgs, another program, and the restores. */
import type { Commit } from '../../src/event-log/append.ts'
import type { Random } from '../support/load-random.ts'
import type { Actors } from './actors.ts'
import { GAS_USED, isOwn, UNIT_WEI } from './chain.ts'
import { AMOUNTS, RECIPIENT, type Service } from './clients.ts'
import type { Facts } from './facts.ts'
import { signWire } from './signer.ts'
import { CHAIN_ID, type World } from './terms.ts'
import { eventsOf } from './truth.ts'

const MINUTE = 60_000
const MAX_RESTORES = 3
const MAX_JUDGED = 2
/** Ms, from minutes to days. */
export const CLOCK_STEPS = [-15, 15, -60, 60, -14_400, 14_400].map((minutes) => minutes * MINUTE)

/** A history, while it runs. */
export type Scene = {
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
  [4, (scene) => isCalm(scene) || reorg(scene.world, scene.service.facts)],
  [4, ({ world: { chain, random } }) => chain.setBaseFee(random.pick([10n, 10n, 20n, 100n]) * UNIT_WEI)],
  [2, ({ world: { chain } }) => chain.forgetPool()],
  [6, payElsewhere],
  [
    8,
    ({ world: { random, scheduler }, time }) => {
      time.skew = random.pick([0, ...CLOCK_STEPS])
      scheduler.note(`  clock: stands ${time.skew / 1_000} s from the truth`)
    },
  ],
  [2, ({ actors }) => actors.killAny()],
  [4, (scene) => (scene.world.chain.sent().some(isOwn) || scene.world.random.chance(0.1)) && restore(scene)],
]

const TOTAL = DISTURBANCES.reduce((sum, [weight]) => sum + weight, 0)

/** One of them. */
export function disturb(scene: Scene): void {
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

function reorg(world: World, facts: Facts): void {
  const { chain, random, scheduler } = world
  const room = chain.reorgRoom()
  const claimed = facts.depthOfClaim()
  const wanted = claimed !== null && random.chance(0.7) ? claimed : random.pick([1, 1, 2, 3])
  const depth = Math.min(wanted, room)
  if (depth <= 0) return
  facts.noteReorg(chain.blocks().slice(-depth))
  const taken = chain.reorg(depth, random.pick([0, 0.5, 1]))
  scheduler.note(`  chain: reorg of depth ${taken}`)
  for (let block = random.between(0, taken + 1); block > 0; block -= 1) mine(world, random.between(0, 3))
}

/** In any case, a block leaves the chain once with what was just found in it. */
export function shake(scene: Scene): void {
  const { world, service } = scene
  const depth = service.facts.depthOfClaim()
  if (scene.isShaken || depth === null || depth > world.chain.reorgRoom()) return
  scene.isShaken = true
  reorg(world, service.facts)
  world.chain.outgrow()
}

/** Another program with the same key pays the same, sometimes with the nonce that a request has. */
function payElsewhere({ world, service, old }: Scene): void {
  const { chain, random, store, scheduler } = world
  // Each request is judged beside each of them.
  if (old.isOld && service.facts.foreign.count() >= MAX_JUDGED) return
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
  service.facts.foreign.note(wire)
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
export function restore(scene: Scene): void {
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
    time.skew = random.pick(CLOCK_STEPS)
    service.facts.seen.add('clock step across a restore')
  }
  scheduler.note(
    `--- the database forgets ${forgotten.length} of ${commits.length} commits, the clock stands at ${time.skew / 1_000} s`,
  )
  service.facts.noteForgotten(forgotten)
  queues.commit(Math.min(queues.checkpoint(), store.events.length))
  for (let kills = random.between(0, 3); kills > 0; kills -= 1) actors.killAny()
  // Signers are often there before the follower.
  if (random.chance(0.4)) actors.kill('follower 1')
}

/** The older version stops, the database goes back to one of its backups, and the new version starts. */
export function upgrade(scene: Scene): void {
  const { world, old, actors } = scene
  if (old.firstCommit === 0) return
  old.tags = true
  actors.killAll()
  old.upgradeAt = world.store.commits().length
  world.scheduler.note('--- the service is upgraded')
  if (world.random.chance(0.7)) restore(scene)
}
