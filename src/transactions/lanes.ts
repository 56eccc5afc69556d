/**
 * The waiting transactions of a lane, from the read model. A lane is (chain id, sender address): the unit of nonce
 * order and of concurrency.
 */
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { WALLETS } from '../wallets/sql.ts'
import { createLaneLooks, type LaneLooks } from './lane-look.ts'
import { isInFlight, isUndecided, isWaiting, unchangedFor } from './sql.ts'

export type Lane = { readonly chainId: number; readonly address: string }

/** The name of a lane in jobs, leases and logs: `1-0xAbc…`. */
export function laneName({ chainId, address }: Lane): string {
  return `${chainId}-${address}`
}

/** Without leading zeros: a lane has one name, and by its name one pass at a time. */
const LANE_NAME = /^([1-9]\d*)-(0x[0-9a-fA-F]{40})$/
/** Columns of chain ids are integers. A wake-up may name any: every login of the database can send one. */
const MAX_CHAIN_ID = 2_147_483_647

export function isLaneName(name: string): boolean {
  const [, chainId] = LANE_NAME.exec(name) ?? []
  return chainId !== undefined && Number(chainId) <= MAX_CHAIN_ID
}

/** @throws Error when the name was not created by `laneName` */
export function parseLane(name: string): Lane {
  const match = LANE_NAME.exec(name)
  if (match === null) throw new Error(`not a lane: ${name}`)
  return { chainId: Number(match[1]), address: match[2] as string }
}

export type LaneReads = LaneLooks & {
  /**
   * Transactions that wait for their first signature, in order of acceptance, without those whose dependency is
   * undecided: not in a block, or failed or cancelled in one that is not final yet. @param except ids to leave out too
   */
  readonly waiting: (lane: Lane, limit: number, except?: readonly string[]) => Promise<string[]>
  /** How many are signed and in no block. */
  readonly inFlight: (lane: Lane) => Promise<number>
  /**
   * The lowest nonces from `from` on that the log has not assigned, with what `spare` says. They are consecutive, unless a
   * reorg removed a foreign transaction, or a node was wrong about the account: later transactions then wait for the gap
   * to be filled.
   */
  readonly room: (lane: Lane, from: number, count: number) => Promise<{ nonces: number[]; spare: bigint }>
  /** Unchanged for this many milliseconds and still in no block, lowest nonces first: what blocks the lane. */
  readonly stuck: (lane: Lane, unchangedMs: number, limit: number) => Promise<string[]>
  /**
   * Gaps: unassigned nonces from `from` on, below the highest one that is in no block, while something has been stuck
   * for this many milliseconds: all higher ones wait for them. The lowest few.
   */
  readonly gaps: (lane: Lane, from: number, unchangedMs: number) => Promise<number[]>
  /** Fillers of gaps requested in the last hour that wait or are signed, without those far below the nonce `from`. */
  readonly fillersOfHour: (lane: Lane, from: number) => Promise<number>
  /** Those in flight with the highest nonces, highest first. */
  readonly highestInFlight: (lane: Lane, limit: number) => Promise<string[]>
  /** The native balance of the sender minus all holds on it, wei; negative when the balance has fallen since. */
  readonly spare: (lane: Lane) => Promise<bigint>
}

/** Foreign transactions removed by a reorg: a handful. */
const MAX_GAPS = 16

/** More transactions than a lane sends in an hour with a gap in it. */
const FILLERS_BELOW = 10_000

export function createLaneReads(pool: Pool): LaneReads {
  async function ids(name: string, text: string, values: unknown[]): Promise<string[]> {
    const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({ name, text, values })
    return rows.map((row) => row.transaction_id)
  }
  const spares = gathering((lanes: readonly Lane[]) => readSpares(pool, lanes), { isShared: isConnectionFailure })
  const room = gathering((asked: readonly RoomAsked[]) => readRoom(pool, asked), { isShared: isConnectionFailure })
  return {
    waiting: ({ chainId, address }, limit, except = []) =>
      ids(
        'lane_waiting',
        // OFFSET: one index lookup for each dependent transaction, never a hash of the whole table.
        `SELECT transaction_id FROM transactions t WHERE chain_id = $1 AND from_address = $2 AND ${isWaiting('t')}
            AND (depends_on IS NULL OR NOT EXISTS (SELECT FROM transactions d WHERE d.transaction_id = t.depends_on
                  AND ${isUndecided('d')} OFFSET 0))
            AND transaction_id <> ALL ($4::text[])
          ORDER BY transaction_id LIMIT $3`,
        [chainId, address, limit, except],
      ),
    async inFlight({ chainId, address }) {
      const { rows } = await pool.query<{ n: string }>({
        name: 'lane_in_flight',
        text: `SELECT count(*) AS n FROM transactions WHERE chain_id = $1 AND from_address = $2 AND ${isInFlight('transactions')}`,
        values: [chainId, address],
      })
      return Number(rows[0]?.n ?? 0)
    },
    async room({ chainId, address }, from, count) {
      const [range] = await room([{ chainId, address, from }])
      const spare = BigInt(range?.spare ?? 0)
      const next = Number(range?.highest ?? from - 1) + 1
      const many = Number(range?.n ?? 0)
      if (many === next - from) return { nonces: Array.from({ length: count }, (_, index) => next + index), spare }
      // Of this many numbers at most `many` can be assigned.
      const gaps = await pool.query<{ nonce: string }>({
        name: 'lane_free_nonces',
        text: `SELECT n AS nonce FROM generate_series($3::bigint, $3::bigint + $4::bigint + $5::bigint - 1) AS n
                WHERE NOT EXISTS (SELECT FROM transactions WHERE chain_id = $1 AND from_address = $2 AND nonce = n)
                ORDER BY n LIMIT $5::bigint`,
        values: [chainId, address, from, many, count],
      })
      return { nonces: gaps.rows.map(({ nonce }) => Number(nonce)), spare }
    },
    stuck: ({ chainId, address }, unchangedMs, limit) =>
      ids(
        'lane_stuck',
        `SELECT transaction_id FROM transactions WHERE chain_id = $1 AND from_address = $2 AND ${isInFlight('transactions')}
            AND ${unchangedFor('$3')}
          ORDER BY nonce LIMIT $4`,
        [chainId, address, unchangedMs, limit],
      ),
    async gaps({ chainId, address }, from, unchangedMs) {
      const { rows } = await pool.query<{ nonce: string }>({
        name: 'lane_gaps',
        // Of the numbers up to the lowest few gaps, at most as many are assigned as the log has assigned: never more are tried.
        text: `SELECT n AS nonce FROM (SELECT max(nonce) - 1 AS last FROM transactions
                  WHERE chain_id = $1 AND from_address = $2 AND ${isInFlight('transactions')} AND ${unchangedFor('$4')}) AS top
                CROSS JOIN LATERAL (SELECT count(*) AS many FROM transactions
                  WHERE chain_id = $1 AND from_address = $2 AND nonce >= $3 AND nonce <= top.last) AS given
                CROSS JOIN LATERAL generate_series($3::bigint, least(top.last, $3::bigint + given.many + ${MAX_GAPS} - 1)) AS n
                WHERE top.last IS NOT NULL
                  AND NOT EXISTS (SELECT FROM transactions WHERE chain_id = $1 AND from_address = $2 AND nonce = n)
                ORDER BY n LIMIT ${MAX_GAPS}`,
        values: [chainId, address, from, unchangedMs],
      })
      return rows.map(({ nonce }) => Number(nonce))
    },
    fillersOfHour: (lane, from) => countFillers(pool, lane, from),
    highestInFlight: ({ chainId, address }, limit) =>
      ids(
        'lane_highest',
        `SELECT transaction_id FROM transactions WHERE chain_id = $1 AND from_address = $2 AND ${isInFlight('transactions')}
          ORDER BY nonce DESC LIMIT $3`,
        [chainId, address, limit],
      ),
    spare: async (lane) => (await spares([lane]))[0] ?? 0n,
    ...createLaneLooks(pool),
  }
}

const FILLER_OF_HOUR = `chain_id = $1 AND from_address = $2 AND type = 'NONCE_FILL' AND created_at > now() - interval '1 hour'`

async function countFillers(pool: Pool, { chainId, address }: Lane, from: number): Promise<number> {
  const { rows } = await pool.query<{ n: string }>({
    name: 'lane_fillers',
    text: `SELECT (SELECT count(*) FROM transactions t WHERE ${FILLER_OF_HOUR} AND nonce >= $3::bigint - ${FILLERS_BELOW}
                      AND state <> 'failed')
                + (SELECT count(*) FROM transactions t WHERE ${FILLER_OF_HOUR} AND ${isWaiting('t')}) AS n`,
    values: [chainId, address, from],
  })
  return Number(rows[0]?.n ?? 0)
}

/** What a sender may still spend of a lane `lane`. */
const SPARE = `(SELECT b.balance - coalesce(h.held, 0) AS spare FROM ${WALLETS} w
    JOIN balances b ON b.wallet_id = w.wallet_id AND b.asset_id LIKE '%/slip44:%'
    LEFT JOIN wallet_holds h ON h.wallet_id = b.wallet_id AND h.asset_id = b.asset_id
   WHERE w.chain_id = lane.chain_id AND lower(w.address) = lower(lane.address) AND w.type <> 'watch' LIMIT 1)`

type RoomAsked = Lane & { readonly from: number }

/** How many nonces from `from` on the log has assigned, the highest of them, and what may be spent. */
async function readRoom(pool: Pool, asked: readonly RoomAsked[]) {
  const { rows } = await pool.query<{ n: string; highest: Row<'transactions'>['nonce']; spare: string | null }>({
    name: 'lane_room',
    // The order, with a limit that cuts nothing, makes it an index's while statistics are older than most lanes.
    text: `SELECT given.n, top.highest, own.spare AS spare
             FROM unnest($1::integer[], $2::text[], $3::bigint[]) WITH ORDINALITY AS lane(chain_id, address, least, n)
            CROSS JOIN LATERAL (SELECT max(nonce) AS highest FROM transactions
              WHERE chain_id = lane.chain_id AND from_address = lane.address AND nonce >= lane.least) AS top
            CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT FROM transactions
              WHERE chain_id = lane.chain_id AND from_address = lane.address AND nonce >= lane.least
              ORDER BY nonce LIMIT greatest(0, top.highest - lane.least + 1)) AS each) AS given
             LEFT JOIN LATERAL ${SPARE} AS own ON true
            ORDER BY lane.n`,
    values: [asked.map(({ chainId }) => chainId), asked.map(({ address }) => address), asked.map(({ from }) => from)],
  })
  return rows
}

/** In the order of the lanes, with one query for all: what `LaneReads.spare` says of each. */
export async function readSpares(pool: Pool, lanes: readonly Lane[]): Promise<readonly bigint[]> {
  if (lanes.length === 0) return []
  const { rows } = await pool.query<{ spare: string | null }>({
    name: 'lane_spare',
    text: `SELECT own.spare AS spare FROM unnest($1::integer[], $2::text[]) WITH ORDINALITY AS lane(chain_id, address, n)
             LEFT JOIN LATERAL ${SPARE} AS own ON true
            ORDER BY lane.n`,
    values: [lanes.map(({ chainId }) => chainId), lanes.map(({ address }) => address)],
  })
  return rows.map(({ spare }) => BigInt(spare ?? 0))
}
