/** Records beside the log why lanes are held, so that `stuck` names what they wait for. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import type { CompareLane, CompareLanePorts } from './compare-lane.ts'
import type { HeldCause, HeldCauseOf } from './held-cause.ts'
import { type Lane, laneName } from './lanes.ts'

export type HeldLanes = {
  /** A comparison that records why a lane, or a request of it, must wait, and forgets it when nothing does. */
  readonly comparing: (build: (onHeld: CompareLanePorts['onHeld']) => CompareLane) => CompareLane
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
