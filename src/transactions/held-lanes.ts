/**
 * What lanes leave alone, and why. Causes are recorded beside the log, so that `stuck` names what a lane waits for.
 *
 * Transactions are deferred because no node could simulate them, or because parties refuse them and not the others, so that
 * others continue. In memory: a new process tries them with the others.
 *
 * Invariant: nothing is given up here. A deferred transaction is tried again, after a pause that doubles up to ten
 * minutes. `isGivenUp` says when one ends: a request that is a day
 * old, and that the nodes did not simulate in twelve tries in a row, fails unsigned. Its pauses double, so that many tries
 * last a quarter of an hour at least. A node that is behind ends nothing, and `valid_until` may end it earlier.
 */

import type { Pool } from 'pg'
import { foreignText } from '../chain/foreign-text.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { CompareLane, LaneReports } from './compare-lane.ts'
import type { HeldCause, HeldCauseOf } from './held-cause.ts'
import { type Lane, laneName } from './lanes.ts'

export type HeldLanes = {
  /** A comparison that records why a lane, or a request of it, must wait, and forgets it when nothing does. */
  readonly comparing: (build: (onHeld: LaneReports['onHeld']) => CompareLane) => CompareLane
  /** A transaction that was left alone. @param shown the reason for its owner */
  readonly leftAlone: (cause: HeldCauseOf<'not_simulated'>, shown: string) => void
}

/** @param onError called when a cause cannot be recorded: the lane is not affected */
export function createHeldLanes(pool: Pool, onError: (error: unknown) => void): HeldLanes {
  /** Lanes whose rows this process wrote, with the last write of each: writes of a lane are in order. */
  const written = new Map<string, Promise<unknown>>()

  const onHeld = ({ chainId, address }: Lane, cause: HeldCause) => {
    const lane = laneName({ chainId, address })
    const write = () =>
      pool.query({
        name: 'record_held_lane',
        text: `INSERT INTO held_lanes (chain_id, address, cause) VALUES ($1, $2, $3)
               ON CONFLICT (chain_id, address) DO UPDATE SET cause = excluded.cause, seen_at = now()`,
        values: [chainId, address, cause],
      })
    written.set(lane, (written.get(lane) ?? Promise.resolve()).then(write).catch(onError))
  }

  async function forget(lane: Lane): Promise<void> {
    const last = written.get(laneName(lane))
    if (last === undefined) return
    written.delete(laneName(lane))
    await last
    await pool
      .query('DELETE FROM held_lanes WHERE chain_id = $1 AND address = $2', [lane.chainId, lane.address])
      .catch(onError)
  }

  return {
    comparing(build) {
      const compare = build(onHeld)
      return async (lane, lease, waiting) => {
        const compared = await compare(lane, lease, waiting)
        if (compared.held === null && compared.unclear.length === 0 && waiting.length > 0) await forget(lane)
        return compared
      }
    },
    leftAlone: (cause, shown) =>
      void pool
        .query({
          name: 'record_left_alone',
          text: `WITH old AS (DELETE FROM unsimulated_transactions WHERE seen_at < now() - interval '1 day'),
                 shown AS (INSERT INTO unsimulated_transactions (transaction_id, reason) VALUES ($1, $3)
                   ON CONFLICT (transaction_id) DO UPDATE SET reason = excluded.reason, seen_at = now())
                 INSERT INTO held_lanes (chain_id, address, cause)
                 SELECT chain_id, from_address, $2 FROM transactions WHERE transaction_id = $1
                 ON CONFLICT (chain_id, address) DO UPDATE SET cause = excluded.cause, seen_at = now()`,
          values: [cause.transactionId, cause, shown],
        })
        .catch(onError),
  }
}

/** What is recorded of these lanes, by their names, with its age by the clock of the database. */
export async function readHeld(
  pool: Pool,
  lanes: readonly Lane[],
): Promise<ReadonlyMap<string, { readonly cause: HeldCause; readonly seenMs: number }>> {
  if (lanes.length === 0) return new Map()
  const { rows } = await pool.query<Row<'held_lanes', { readonly cause: HeldCause }> & { seen_ms: number }>({
    name: 'held_lanes',
    text: `SELECT chain_id, address, cause, (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::double precision AS seen_ms
             FROM held_lanes WHERE (chain_id, address) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))`,
    values: [lanes.map(({ chainId }) => chainId), lanes.map(({ address }) => address)],
  })
  return new Map(
    rows.map(({ chain_id: chainId, address, cause, seen_ms: seenMs }) => [
      laneName({ chainId: Number(chainId), address }),
      { cause, seenMs },
    ]),
  )
}

/** A replica is usually behind for less than a second. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 600_000
/** Maximum remembered, the newest; forgotten ones are tried with the others. */
const MAX_REMEMBERED = 10_000

export type Deferred = {
  /** Deferred transactions of a lane, neither simulated nor signed since. */
  readonly of: (lane: Lane) => readonly string[]
  /** Those of them whose pause is over. */
  readonly due: (lane: Lane) => readonly string[]
  /** @returns how often it was deferred in a row */
  readonly add: (lane: Lane, transactionId: string) => number
  /** The transaction was simulated, or no longer waits. */
  readonly forget: (transactionId: string) => void
}

type Entry = { readonly lane: string; readonly tries: number; readonly until: number }

/** @param now a monotonic clock, ms */
export function createDeferred(now: () => number): Deferred {
  const entries = new Map<string, Entry>()
  const idsIn = (lane: Lane, which: (entry: Entry) => boolean) =>
    [...entries].flatMap(([id, entry]) => (entry.lane === laneName(lane) && which(entry) ? [id] : []))
  return {
    of: (lane) => idsIn(lane, () => true),
    due: (lane) => idsIn(lane, ({ until }) => until <= now()),
    add(lane, transactionId) {
      const tries = (entries.get(transactionId)?.tries ?? 0) + 1
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1))
      // Inserted again: a Map keeps insertion order, so its first key is the oldest.
      entries.delete(transactionId)
      entries.set(transactionId, { lane: laneName(lane), tries, until: now() + pauseMs })
      const oldest = entries.keys().next()
      if (entries.size > MAX_REMEMBERED && !oldest.done) entries.delete(oldest.value)
      return tries
    },
    forget: (transactionId) => void entries.delete(transactionId),
  }
}

/** Longer than outages of nodes last. */
export const UNSIMULATED_FOR_MS = 24 * 60 * 60_000
export const UNSIMULATED_TRIES = 12
const MAX_REASON = 200

/** `silent`: no answer in time; `behind`: the node lacks a block; `refused`: the node answered with an error. */
export type UnsimulatedCause = 'silent' | 'behind' | 'refused'

export type Unsimulated = { readonly cause: UnsimulatedCause; readonly reason: string }

/** For owners: messages of connections, which may name hosts, stay with the operator. */
export function shownReason({ cause, reason }: Unsimulated): string {
  switch (cause) {
    case 'silent':
      return 'No node answered its simulation in time.'
    case 'behind':
      return 'The nodes have not seen the blocks that it depends on.'
    case 'refused':
      return `No node can simulate it: ${foreignText(reason, MAX_REASON)}`
    default:
      return cause satisfies never
  }
}

/** @param tries in a row, with the last one */
export function isGivenUp({ cause }: Unsimulated, tries: number, requestedAt: string, now: string): boolean {
  const age = Date.parse(now) - Date.parse(requestedAt)
  return cause !== 'behind' && tries >= UNSIMULATED_TRIES && age >= UNSIMULATED_FOR_MS
}

export function givenUpMessage(unsimulated: Unsimulated): string {
  return `It was not signed, because it could not be simulated for a day. ${shownReason(unsimulated)}`
}
