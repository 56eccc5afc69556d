/** Every lane with its waiting transactions and the holders of its partition, in one query. Read only. */
import type { Pool } from 'pg'
import { sqlList } from '../../core/sql-list.ts'
import { LEASES } from '../../event-log/sql.ts'
import type { Lane } from '../../transactions/lanes.ts'
import { partitionLeaseSql } from '../../transactions/partitions.ts'
import { isInFlight, isUndecided, isUnmined, TRANSACTIONS } from '../../transactions/sql.ts'
import { UNSENT_STATES } from '../../transactions/state.ts'
import { WALLETS } from '../../wallets/sql.ts'

/** A lease; ages by the clock of the database. */
export type LeaseNow = {
  readonly name: string
  readonly holder: string
  readonly expiresInMs: number
  readonly fence: string
}

export type LaneRow = {
  readonly lane: Lane
  readonly wallet: {
    readonly id: string
    readonly label: string
    readonly type: string
    readonly tenantId: string
  } | null
  /** Transactions by what they wait for. `dependent` are those among `waiting` that wait for another one. */
  readonly counts: Readonly<
    Record<'waiting' | 'dependent' | 'unsent' | 'submitted' | 'awaitingFunds' | 'wishes', number>
  >
  /**
   * The first that could be signed now, the first that was not submitted, the lowest nonce in flight, the first with a
   * cancel or speed-up request.
   */
  readonly ids: Readonly<Record<'ready' | 'unsent' | 'head' | 'wish', string | null>>
  /** Ages in ms, by the same names; `waiting` since the oldest waiting request was accepted. */
  readonly ages: Readonly<Record<'waiting' | 'ready' | 'unsent' | 'head' | 'wish', number | null>>
  /** The highest nonce ever assigned. */
  readonly highestNonce: number | null
  readonly headNonce: number | null
  /** The lease of its partition, in which a process signs for all lanes. */
  readonly signLease: LeaseNow | null
  readonly submitLease: LeaseNow | null
}

export type LaneFilter = {
  /** Only this lane. The address may have any case. */
  readonly lane?: Lane
  /** Include lanes of wallets without pending transactions. */
  readonly idle: boolean
  readonly limit: number
}

/** Transactions without sufficient funds are counted separately. */
const UNSENT = sqlList(UNSENT_STATES.filter((state) => state !== 'awaiting_funds'))
/** Waits for no other transaction: same as `lane_waiting` in lanes.ts. */
const READY = `(t.state = 'requested' AND (d.state IS NULL OR NOT ${isUndecided('d')}))`
const age = (since: string) => `extract(epoch FROM clock_timestamp() - ${since}) * 1000`
const lease = (prefix: string) =>
  `CASE WHEN ${prefix}.holder IS NOT NULL THEN jsonb_build_object('name', ${prefix}.name, 'holder', ${prefix}.holder, 'fence', ${prefix}.fence::text,
     'expiresInMs', extract(epoch FROM ${prefix}.expires_at - clock_timestamp()) * 1000) END AS ${prefix}_lease`

const SELECT = `
WITH work AS (
  SELECT t.chain_id, t.from_address AS address,
         count(*) FILTER (WHERE t.state = 'requested') AS waiting,
         count(*) FILTER (WHERE t.state = 'requested' AND NOT ${READY}) AS dependent,
         count(*) FILTER (WHERE t.state IN ${UNSENT}) AS unsent,
         count(*) FILTER (WHERE t.state = 'submitted') AS submitted,
         count(*) FILTER (WHERE t.state = 'awaiting_funds') AS awaiting_funds,
         count(*) FILTER (WHERE t.attention IN ('cancel', 'speed_up')) AS wishes,
         min(t.transaction_id) FILTER (WHERE ${READY}) AS ready_id,
         min(greatest(t.updated_at, d.updated_at)) FILTER (WHERE ${READY}) AS ready_since,
         min(t.created_at) FILTER (WHERE t.state = 'requested') AS waiting_since,
         min(t.transaction_id) FILTER (WHERE t.state IN ${UNSENT}) AS unsent_id,
         min(t.updated_at) FILTER (WHERE t.state IN ${UNSENT}) AS unsent_since,
         min(t.transaction_id) FILTER (WHERE t.attention IN ('cancel', 'speed_up')) AS wish_id,
         min(t.updated_at) FILTER (WHERE t.attention IN ('cancel', 'speed_up')) AS wish_since
    FROM ${TRANSACTIONS} t LEFT JOIN ${TRANSACTIONS} d ON d.transaction_id = t.depends_on
   WHERE ${isUnmined('t')} AND ($1::integer IS NULL OR (t.chain_id = $1 AND lower(t.from_address) = lower($2)))
   GROUP BY t.chain_id, t.from_address),
named AS (
  SELECT chain_id, address FROM work
   UNION SELECT chain_id, address FROM ${WALLETS} AS wallets
          WHERE ($3 OR $1::integer IS NOT NULL) AND address IS NOT NULL AND type <> 'watch'
            AND ($1::integer IS NULL OR (chain_id = $1 AND lower(address) = lower($2))))
SELECT n.chain_id, n.address, w.waiting, w.dependent, w.unsent, w.submitted, w.awaiting_funds, w.wishes,
       w.ready_id, w.unsent_id, w.wish_id, head.transaction_id AS head_id, head.nonce AS head_nonce,
       ${age('w.waiting_since')} AS waiting_ms, ${age('w.ready_since')} AS ready_ms, ${age('w.unsent_since')} AS unsent_ms,
       ${age('w.wish_since')} AS wish_ms, ${age('head.updated_at')} AS head_ms,
       highest.nonce AS highest, owner.wallet, ${lease('s')}, ${lease('b')}
  FROM named n
  LEFT JOIN work w USING (chain_id, address)
  LEFT JOIN LATERAL (SELECT transaction_id, nonce, updated_at FROM ${TRANSACTIONS} AS transactions
     WHERE chain_id = n.chain_id AND from_address = n.address AND ${isInFlight('transactions')} ORDER BY nonce LIMIT 1) AS head ON true
  LEFT JOIN LATERAL (SELECT nonce FROM ${TRANSACTIONS} AS transactions
     WHERE chain_id = n.chain_id AND from_address = n.address AND nonce IS NOT NULL ORDER BY nonce DESC LIMIT 1) AS highest ON true
  LEFT JOIN LATERAL (SELECT jsonb_build_object('id', wallet_id, 'label', label, 'type', type, 'tenantId', tenant_id) AS wallet
      FROM ${WALLETS} AS wallets WHERE chain_id = n.chain_id AND lower(address) = lower(n.address) AND type <> 'watch'
     ORDER BY status = 'archived', wallet_id LIMIT 1) AS owner ON true
  LEFT JOIN ${LEASES} s ON s.name = CASE WHEN owner.wallet->>'type' = 'mpc' THEN ${partitionLeaseSql('mpc-lane', 'n.address')}
       ELSE ${partitionLeaseSql('lane', 'n.address')} END
  LEFT JOIN ${LEASES} b ON b.name = ${partitionLeaseSql('submit', 'n.address')}
 ORDER BY w.waiting_since NULLS LAST, n.chain_id, n.address LIMIT $4`

type Row = Readonly<
  Record<'waiting' | 'dependent' | 'unsent' | 'submitted' | 'awaiting_funds' | 'wishes', string | null>
> &
  Readonly<Record<'ready_id' | 'unsent_id' | 'wish_id' | 'head_id' | 'head_nonce' | 'highest', string | null>> &
  Readonly<Record<'waiting_ms' | 'ready_ms' | 'unsent_ms' | 'wish_ms' | 'head_ms', string | null>> & {
    readonly chain_id: number
    readonly address: string
    readonly wallet: LaneRow['wallet']
    readonly s_lease: LeaseNow | null
    readonly b_lease: LeaseNow | null
  }

/** Ordered by the oldest pending request, longest waiting first. */
export async function readLaneRows(pool: Pool, { lane, idle, limit }: LaneFilter): Promise<LaneRow[]> {
  const { rows } = await pool.query<Row>({
    name: 'operator_lanes',
    text: SELECT,
    values: [lane?.chainId ?? null, lane?.address ?? null, idle, limit],
  })
  return rows.map(toLane)
}

function toLane(row: Row): LaneRow {
  return {
    lane: { chainId: row.chain_id, address: row.address },
    wallet: row.wallet,
    counts: {
      waiting: Number(row.waiting),
      dependent: Number(row.dependent),
      unsent: Number(row.unsent),
      submitted: Number(row.submitted),
      awaitingFunds: Number(row.awaiting_funds),
      wishes: Number(row.wishes),
    },
    ids: { ready: row.ready_id, unsent: row.unsent_id, head: row.head_id, wish: row.wish_id },
    ages: {
      waiting: ms(row.waiting_ms),
      ready: ms(row.ready_ms),
      unsent: ms(row.unsent_ms),
      head: ms(row.head_ms),
      wish: ms(row.wish_ms),
    },
    highestNonce: ms(row.highest),
    headNonce: ms(row.head_nonce),
    signLease: row.s_lease,
    submitLease: row.b_lease,
  }
}

function ms(text: string | null): number | null {
  return text === null ? null : Number(text)
}

/**
 * Nonces that the log assigned to no transaction although it assigned a later one, for each lane from the chain's nonce
 * on; at most ten.
 */
export async function readGaps(
  pool: Pool,
  lanes: readonly { readonly lane: Lane; readonly from: number; readonly highest: number }[],
): Promise<number[][]> {
  if (lanes.length === 0) return []
  const { rows } = await pool.query<{ gaps: string[] }>({
    name: 'operator_gaps',
    text: `SELECT array(SELECT nonce FROM generate_series(l.low, least(l.high, l.low + 10000)) AS nonce
                         WHERE NOT EXISTS (SELECT FROM ${TRANSACTIONS} t WHERE t.chain_id = l.chain_id AND t.from_address = l.address
                                              AND t.nonce = nonce.nonce) ORDER BY nonce LIMIT 10) AS gaps
             FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS l(chain_id, address, low, high, n)
            ORDER BY l.n`,
    values: [
      lanes.map(({ lane }) => lane.chainId),
      lanes.map(({ lane }) => lane.address),
      lanes.map(({ from }) => from),
      lanes.map(({ highest }) => highest),
    ],
  })
  return rows.map(({ gaps }) => gaps.map(Number))
}
