/**
 * The ports of one process over the in-memory store: each call waits for the scheduler, then reads or writes
 * immediately.
 */
import { nativeAsset } from '../../src/core/assets.ts'
import type { Event } from '../../src/core/messages.ts'
import { type Aggregate, type EventSchemas, type Loaded, upcast } from '../../src/event-log/aggregate.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import type { Lease, Leases } from '../../src/event-log/leases.ts'
import { type EventLog, execute } from '../../src/event-log/log.ts'
import type { WalkedBlocks } from '../../src/follower/cursor.ts'
import { laneWork } from '../../src/transactions/jobs.ts'
import type { Lane, LaneReads } from '../../src/transactions/lanes.ts'
import type { RecordedRow, RowsOf } from '../../src/transactions/recorded-rows.ts'
import { IN_FLIGHT_STATES, UNSENT_STATES } from '../../src/transactions/state.ts'
import type { Actor, Scheduler } from './scheduler.ts'
import type { Store, TransactionRow } from './store.ts'
import { CHAIN_ID } from './terms.ts'

export const IN_FLIGHT: readonly string[] = IN_FLIGHT_STATES
const NATIVE = nativeAsset('ethereum', CHAIN_ID).assetId
const UNSENT: readonly string[] = UNSENT_STATES
const MAX_GAPS = 16

export type PortsOf = {
  readonly actor: Actor
  readonly scheduler: Scheduler
  readonly store: Store
  /** The clock of this process, as ISO 8601. */
  readonly now: () => string
  /** The database's time, which no process sets. */
  readonly databaseNow: () => number
  /** Rows changed later than now by more than this count as old. */
  readonly futureMs: number
  /** Wakes all processes. */
  readonly tell: (work: readonly string[]) => void
}

type Ages = Pick<PortsOf, 'databaseNow' | 'futureMs'>

/** Whether a row was changed before, or by a clock that has been set back since. */
export function isOlder(
  row: Pick<TransactionRow, 'updated_at'>,
  ageMs: number,
  { databaseNow, futureMs }: Ages,
): boolean {
  const changed = Date.parse(row.updated_at)
  return changed < databaseNow() - ageMs || changed > databaseNow() + futureMs
}

export function caller({ actor, scheduler }: PortsOf) {
  return <T>(label: string, effect: () => T, weight = 1): Promise<T> =>
    scheduler.call({ actor, label, weight, fallible: true }, effect)
}

export function createLogPort(ports: PortsOf): EventLog {
  const { store, now } = ports
  const call = caller(ports)

  function fold<S, C, E extends Event>(aggregate: Aggregate<S, C, E>, id: string): Loaded<S> {
    const stored = store.streams.get(`${aggregate.category}-${id}`) ?? []
    const state = stored.reduce(
      (before, { type, schemaVersion, data }) =>
        aggregate.evolve(before, upcast<E>(aggregate.schemas, type, schemaVersion, data)),
      aggregate.initialState,
    )
    return { id, state, version: stored.length, hash: stored.at(-1)?.hash ?? '' }
  }

  const append: EventLog['append'] = async (commit) => {
    const types = commit.decisions.map(({ events }) =>
      events.map(({ canonical }) => JSON.parse(canonical).type).join('+'),
    )
    await call(`append ${types.join(' ') || 'rows'}`, () => store.append(commit))
    ports.tell(laneWork(commit.decisions))
  }
  const load: EventLog['load'] = (aggregate, id) => call(`load ${id}`, () => fold(aggregate, id))
  const readStream = <E extends Event>(aggregate: { category: string; schemas: EventSchemas<E> }, id: string) =>
    call(`read ${id}`, () =>
      (store.streams.get(`${aggregate.category}-${id}`) ?? []).map((event, index) => ({
        ...upcast<E>(aggregate.schemas, event.type, event.schemaVersion, event.data),
        position: BigInt(index),
        streamId: event.streamId,
        streamVersion: event.version,
        metadata: { tenantId: event.tenantId, actor: 'simulated' },
        recordedAt: event.recordedAt,
        hash: event.hash,
      })),
    )
  const commit = createCommit(append, async () => undefined)
  return {
    now,
    append,
    commit,
    load,
    loadChecked: (aggregate, ids) =>
      call(`load ${ids.join(' ')}`, () =>
        [...new Set(ids)].map((id) => ({
          ...fold(aggregate, id),
          broken: null,
          tenantId: store.streams.get(`${aggregate.category}-${id}`)?.[0]?.tenantId ?? null,
          opened: null,
        })),
      ),
    loadMany: (aggregate, ids) =>
      call(`load ${ids.join(' ')}`, () => [...new Set(ids)].map((id) => fold(aggregate, id))),
    heads: (ids) =>
      call('heads', () =>
        ids.map((id) => {
          const stored = store.streams.get(id) ?? []
          return { version: stored.length, hash: stored.at(-1)?.hash ?? '' }
        }),
      ),
    execute: (aggregate, id, command, context) => execute({ load, commit, now }, aggregate, id, command, context),
    readSound: async (aggregate, id) => ({ events: await readStream(aggregate, id), held: null }),
    readStream,
  }
}

export function createLeasesPort(ports: PortsOf, leaseMs: number): Leases {
  const { store, actor } = ports
  const call = caller(ports)
  return {
    async acquire(name) {
      const fence = await call(`acquire ${name}`, () => store.leases.acquire(name, actor.name, leaseMs))
      if (fence === null) return null
      const renew = () => call(`renew ${name}`, () => store.leases.renew(name, fence, leaseMs), 0.5)
      return {
        name,
        fence,
        renew,
        keep: renew,
        during: (work) => work(),
        release: (options) => call(`release ${name}`, () => store.leases.release(name, fence, options?.force ?? false)),
      } satisfies Lease
    },
  }
}

export function ofLane(store: Store, { chainId, address }: Lane): TransactionRow[] {
  return [...store.transactions.values()].filter((row) => row.chain_id === chainId && row.from_address === address)
}

export function idsOf(rows: readonly TransactionRow[], limit = Number.POSITIVE_INFINITY): string[] {
  return rows.slice(0, limit).map((row) => row.transaction_id)
}

const byNonce = (a: TransactionRow, b: TransactionRow) => (a.nonce ?? 0) - (b.nonce ?? 0)
export const byId = (a: TransactionRow, b: TransactionRow) => (a.transaction_id < b.transaction_id ? -1 : 1)

export function createLanePort(ports: PortsOf): LaneReads {
  const { store } = ports
  const call = caller(ports)
  const isDecided = (id: unknown) => {
    const dependency = store.transactions.get(String(id))
    if (dependency === undefined) return true
    if (['requested', 'cancelling', ...IN_FLIGHT].includes(dependency.state)) return false
    return dependency.state !== 'mined' || dependency.succeeded === true
  }
  const flying = (lane: Lane) => ofLane(store, lane).filter((row) => IN_FLIGHT.includes(row.state))
  const waiting = (lane: Lane, limit: number, except: readonly string[]) =>
    idsOf(
      ofLane(store, lane)
        .filter((row) => row.state === 'requested' && !except.includes(row.transaction_id))
        .filter((row) => row.depends_on === null || isDecided(row.depends_on))
        .sort(byId),
      limit,
    )
  const stuck = (lane: Lane, unchangedMs: number, limit: number) =>
    idsOf(
      flying(lane)
        .filter((row) => isOlder(row, unchangedMs, ports))
        .sort(byNonce),
      limit,
    )
  const spare = ({ address }: Lane) => {
    const account = `${address} ${NATIVE}`
    return (store.balances.get(account) ?? 0n) - (store.held.get(account) ?? 0n)
  }
  return {
    waiting: (lane, limit, except = []) => call('waiting', () => waiting(lane, limit, except)),
    inFlight: (lane) => call('in flight', () => flying(lane).length),
    room: (lane, from, count) =>
      call('room', () => {
        const taken = new Set(ofLane(store, lane).map(({ nonce }) => nonce))
        const nonces: number[] = []
        for (let nonce = from; nonces.length < count; nonce += 1) if (!taken.has(nonce)) nonces.push(nonce)
        return { nonces, spare: spare(lane) }
      }),
    look: (lane, { unchangedMs, maxInFlight, limit, except }) =>
      call('look at the lane', () => {
        const inFlight = flying(lane).length
        const wishes = ofLane(store, lane).filter(({ attention }) => attention === 'cancel' || attention === 'speed_up')
        return {
          inFlight,
          waiting: waiting(lane, Math.max(0, Math.min(limit, maxInFlight - inFlight)), except),
          wantingReplacement: idsOf(wishes.sort(byNonce), 64),
          stuck: stuck(lane, unchangedMs, 16),
        }
      }),
    stuck: (lane, unchangedMs, limit) => call('stuck', () => stuck(lane, unchangedMs, limit)),
    gaps: (lane, from, unchangedMs) =>
      call('gaps', () => {
        const ours = ofLane(store, lane)
        const stuck = flying(lane).filter((row) => isOlder(row, unchangedMs, ports))
        const highest = Math.max(-1, ...stuck.map((row) => row.nonce ?? -1))
        const all = Array.from({ length: Math.max(0, highest - from) }, (_, index) => from + index)
        return all.filter((nonce) => ours.every((row) => row.nonce !== nonce)).slice(0, MAX_GAPS)
      }),
    fillersOfHour: async () => 0,
    highestInFlight: (lane, limit) =>
      call('highest in flight', () => idsOf(flying(lane).sort(byNonce).reverse(), limit)),
    spare: (lane) => call('spare', () => spare(lane)),
    toSubmit: (lane, { forgottenAfterMs, afterNonce, limit }) =>
      call('to submit', () =>
        idsOf(
          ofLane(store, lane)
            .filter((row) => {
              const due = row.state === 'submitted' && isOlder(row, forgottenAfterMs, ports)
              return (row.nonce ?? -1) > afterNonce && (UNSENT.includes(row.state) || due)
            })
            .sort(byNonce),
          limit,
        ),
      ),
  }
}

export function createWalkedPort(ports: PortsOf, keptHashes: number): WalkedBlocks {
  const { store } = ports
  const call = caller(ports)
  return {
    cursor: () => call('cursor', () => store.cursor()),
    hashes: (_chainId, from, to) =>
      call('hashes', () => new Map([...store.blocks].filter(([number]) => number >= from && number <= to))),
    hash: (_chainId, block) => call('hash', () => store.blocks.get(block) ?? null),
    final: async () => null,
    heard: async () => undefined,
    prune: (_chainId, cursor) =>
      call('prune', () => {
        for (const number of store.blocks.keys())
          if (number > 0 && number < cursor - keptHashes) store.blocks.delete(number)
      }),
  }
}

/** Rows as they were written with the events. */
export function createRowsPort(ports: PortsOf): RowsOf {
  const { store } = ports
  return (ids) =>
    caller(ports)('rows', () => {
      const rows = ids.flatMap((id) => store.transactions.get(id) ?? [])
      return {
        rows: new Map(rows.map((row) => [row.transaction_id, row as unknown as RecordedRow])),
        newest: new Map(),
      }
    })
}
