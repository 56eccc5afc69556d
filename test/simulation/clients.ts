/**
 * Clients of a service whose database forgets, and its operator. Clients ask for equal payments, repeat a request until
 * it is answered, and some of them when the service has forgotten it; the operator tells the truth.
 */
import { NotFound } from '../../src/core/errors.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { IdempotentReplay } from '../../src/event-log/append.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { judgeLookalike } from '../../src/transactions/judge-lookalike.ts'
import { type Lane, laneName } from '../../src/transactions/lanes.ts'
import { oneNode } from '../support/one-node.ts'
import { ASSET, untilObserved } from './balances.ts'
import { UNIT_WEI } from './chain.ts'
import type { Facts } from './facts.ts'
import { nodeOf } from './node.ts'
import { createLeasesPort, createLogPort, type PortsOf } from './ports.ts'
import { CHAIN_ID, isExpected, LEASE_MS, type World } from './terms.ts'
import type { Order, Truth } from './truth.ts'

export const RECIPIENT = `0x${'33'.repeat(20)}`
/** Few, so that most payments have an equal. */
export const AMOUNTS = [5n * UNIT_WEI, 5n * UNIT_WEI, 8n * UNIT_WEI]
/** As the command of an operator, which tries for some seconds. */
const LEASE_TRIES = 10
const METADATA = { tenantId: 'acme', actor: 'apikey:client' }
const REFUSALS = ['cancellation_requested', 'insufficient_funds', 'invalid_transition', 'idempotent_replay']

/** What clients know of the service. */
export type Service = {
  readonly truth: Truth
  readonly facts: Facts
  /** The version that runs tags what it signs. */
  readonly tags: () => boolean
  /** Whether a client may still ask for something new. */
  readonly isOpen: () => boolean
}

/** Whether a client will still send something. */
export function clientsWait({ truth, isOpen }: Service, { store, wallClock }: World): boolean {
  return isOpen() || truth.orders.some((order) => isDue(order, store, wallClock()))
}

/** Unanswered, or forgotten by the service. */
function isDue(order: Order, store: World['store'], now: number): boolean {
  if (order.validUntil !== null && Date.parse(order.validUntil) <= now) return false
  if (order.key === null) return false
  if (order.id === null) return true
  return order.isRepeated && !store.transactions.has(order.id)
}

export function createClients(service: Service) {
  return async (world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> => {
    const { scheduler, random, store } = world
    const { truth, isOpen } = service
    const log = createLogPort(ports)
    const think = (isReady: () => boolean) =>
      scheduler.call({ actor: ports.actor, label: 'thinks', weight: 0.3, fallible: false, isReady }, () => undefined)
    await untilObserved(world, ports, isStopped, () => think(() => true))
    while (!isStopped()) {
      await think(() => clientsWait(service, world))
      const due = truth.orders.filter((order) => isDue(order, store, world.wallClock()))
      const order = isOpen() && (due.length === 0 || random.chance(0.6)) ? newOrder(world, service) : random.pick(due)
      if (order !== undefined) await send(world, service, log, order)
      if (world.faults() && random.chance(0.35)) await change(world, truth, log)
    }
  }
}

function newOrder({ random, wallClock }: World, { truth }: Service): Order {
  const order: Order = {
    key: random.chance(0.85) ? `key-${truth.orders.length + 1}` : null,
    to: RECIPIENT,
    amount: random.pick(AMOUNTS),
    gasPriority: random.pick(['low', 'medium', 'high']),
    validUntil: random.chance(0.05) ? new Date(wallClock() + 120_000).toISOString() : null,
    isRepeated: random.chance(0.7),
    id: null,
  }
  truth.orders.push(order)
  return order
}

async function send(world: World, { truth, tags }: Service, log: EventLog, order: Order): Promise<void> {
  const id = `tx_${(truth.orderOf.size + 1).toString().padStart(3, '0')}`
  truth.orderOf.set(id, order)
  const opening = {
    type: 'RequestTransaction',
    opening: 'TransferRequested',
    intent: intentOf(world, order, tags() && !world.mutant.tagsIds),
  } as const
  const guards =
    order.key === null
      ? {}
      : { guards: { idempotency: { tenantId: 'acme', key: order.key, fingerprint: order.key, resourceId: id } } }
  try {
    await log.append({
      decisions: [decideNew(transactionAggregate, id, opening, { metadata: METADATA, now: log.now() })],
      ...guards,
    })
    order.id = id
  } catch (error) {
    if (error instanceof IdempotentReplay) order.id = error.resourceId
    else if (!isRefused(error)) throw error
  }
}

function isRefused(error: unknown): boolean {
  return isExpected(error) || REFUSALS.includes((error as { code?: string }).code ?? '')
}

/** Speeds up or cancels. */
async function change({ random, store, wallClock }: World, truth: Truth, log: EventLog): Promise<void> {
  const known = truth.orders.flatMap(({ id }) => (id !== null && store.transactions.has(id) ? [id] : []))
  if (known.length === 0) return
  const now = new Date(wallClock()).toISOString()
  const command = random.chance(0.15)
    ? ({ type: 'RequestCancellation', now } as const)
    : ({ type: 'RequestSpeedUp', gasPriority: 'high', now } as const)
  await log
    .execute(transactionAggregate, random.pick(known), command, { metadata: METADATA })
    .catch((error: unknown) => {
      if (!isRefused(error)) throw error
    })
}

function intentOf(world: World, { key, to, amount, gasPriority, validUntil }: Order, tags: boolean): Intent {
  const [from = ''] = world.lanes
  const now = new Date(world.wallClock()).toISOString()
  return {
    tenantId: 'acme',
    walletId: from,
    network: 'ethereum',
    environment: 'mainnet',
    chainId: CHAIN_ID,
    from,
    to,
    asset: { assetId: ASSET.assetId, symbol: ASSET.symbol, decimals: ASSET.decimals, contract: null },
    amount,
    data: null,
    dependsOn: null,
    subject: null,
    gasPriority,
    reserved: { gasLimit: 21_000n, maxFeePerGas: 40n * UNIT_WEI },
    quote: null,
    referenceId: null,
    memo: null,
    ...(tags ? { idempotency: key === null ? null : { key, part: 0 } } : {}),
    validUntil,
    estimatedCompletionAt: now,
    requestedAt: now,
  }
}

/** Decides on held requests, knowing who signed what. */
export function createOperator({ truth }: Service) {
  return async (world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> => {
    const { scheduler, store, random } = world
    const log = createLogPort(ports)
    const leases = createLeasesPort(ports, LEASE_MS)
    const held = () => [...store.transactions.values()].filter(({ attention }) => attention === 'judge')
    const client = nodeOf(world, ports)
    const pause = () =>
      scheduler.call(
        { actor: ports.actor, label: 'waits for the lane', weight: 0.15, fallible: false },
        () => undefined,
      )
    while (!isStopped()) {
      const wait = { actor: ports.actor, label: 'looks for held requests', weight: 0.5, fallible: false }
      await scheduler.call({ ...wait, isReady: () => held().length > 0 }, () => undefined)
      if (held().length === 0) continue
      const { transaction_id: id } = random.pick(held())
      const hash = lookalikeOf(store.streams.get(`transaction-${id}`) ?? [])
      const wire = truth.wireOf(hash)
      const verdict = wire !== undefined && truth.isOf(wire, id) ? 'claim' : 'new'
      try {
        await judgeLookalike(
          { log, clientOf: () => oneNode(client), withLane: withLane(leases, pause) },
          id,
          verdict,
          hash,
        )
      } catch (error) {
        scheduler.note(`  operator: ${error instanceof Error ? error.message : error}`)
        const codes = ['cannot_claim', 'not_held', 'lane_busy']
        if (
          !isExpected(error) &&
          !(error instanceof NotFound) &&
          !codes.includes((error as { code?: string }).code ?? '')
        )
          throw error
      }
    }
  }
}

function lookalikeOf(events: readonly { readonly type: string; readonly data: unknown }[]): string {
  return (events.findLast(({ type }) => type === 'LookalikeHeld')?.data as { hash: string } | undefined)?.hash ?? ''
}

function withLane(
  leases: ReturnType<typeof createLeasesPort>,
  pause: () => Promise<void>,
): Parameters<typeof judgeLookalike>[0]['withLane'] {
  return async (lane: Lane, task) => {
    let lease = null
    for (let tries = 0; lease === null && tries < LEASE_TRIES; tries += 1) {
      // A signer that is asked for the lane looks for work once more: asked all the time, it would never end.
      await pause()
      lease = await leases.acquire(`sign-reconcile-${laneName(lane)}`)
    }
    if (lease === null) throw Object.assign(new Error('a signer works on the lane'), { code: 'lane_busy' })
    try {
      return await task(lease)
    } finally {
      await lease.release({ force: true }).catch(() => undefined)
    }
  }
}
