/** What one read shows of lanes: all lanes that begin a pass in the same turn of the event loop share one statement. */
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { hasNonce, isInFlight, isUndecided, isWaiting, UNSENT, unchangedFor } from './sql.ts'

/** As `lanes.ts` declares it, which uses this file. */
type Lane = { readonly chainId: number; readonly address: string }

/** Lanes in one statement: each reads a few hundred index entries at most. */
const MOST = 256

export type LaneLook = {
  /** How many are signed and in no block. */
  readonly inFlight: number
  /**
   * Transactions that wait for their first signature, in order of acceptance, without those whose dependency is undecided:
   * as many as the lane has room for, at most `limit`.
   */
  readonly waiting: readonly string[]
  /** Transactions with a cancel or speed-up request. */
  readonly wantingReplacement: readonly string[]
  /** Unchanged for `unchangedMs` and still in no block, lowest nonces first: what blocks the lane. */
  readonly stuck: readonly string[]
}

export type LookWanted = {
  readonly unchangedMs: number
  readonly maxInFlight: number
  readonly limit: number
  /** Ids to leave out of `waiting`. */
  readonly except: readonly string[]
}

type SubmitPage = { readonly forgottenAfterMs: number; readonly afterNonce: number; readonly limit: number }

/** The limits are those of the process. */
export type LaneLooks = {
  /** All that a pass of a signer begins with. */
  readonly look: (lane: Lane, wanted: LookWanted) => Promise<LaneLook>
  /** Signed bytes that were not submitted, or that were submitted `forgottenAfterMs` ago and may have been dropped, by nonce. */
  readonly toSubmit: (lane: Lane, page: SubmitPage) => Promise<readonly string[]>
}

const OF_LANE = 'chain_id = lane.chain_id AND from_address = lane.address'
/** The lowest nonces block all others: only these are bumped in one pass. */
const MOST_STUCK = 16
const MOST_WANTED = 64

const LOOK = `
  SELECT f.in_flight::integer AS "inFlight", w.ids AS waiting, a.ids AS "wantingReplacement", s.ids AS stuck
    FROM unnest($1::integer[], $2::text[]) WITH ORDINALITY AS lane(chain_id, address, n)
   CROSS JOIN LATERAL (SELECT count(*) AS in_flight FROM transactions t WHERE ${OF_LANE} AND ${isInFlight('t')}) AS f
   CROSS JOIN LATERAL (SELECT array(SELECT transaction_id FROM transactions t WHERE ${OF_LANE} AND ${isWaiting('t')}
        AND (depends_on IS NULL OR NOT EXISTS (SELECT FROM transactions d WHERE d.transaction_id = t.depends_on
              AND ${isUndecided('d')} OFFSET 0))
        AND transaction_id <> ALL ($6::text[])
      ORDER BY transaction_id LIMIT greatest(0, least($5::bigint, $4::bigint - f.in_flight))) AS ids) AS w
   CROSS JOIN LATERAL (SELECT array(SELECT transaction_id FROM transactions WHERE ${OF_LANE} AND attention IN ('cancel', 'speed_up')
      ORDER BY nonce LIMIT ${MOST_WANTED}) AS ids) AS a
   CROSS JOIN LATERAL (SELECT array(SELECT transaction_id FROM transactions t WHERE ${OF_LANE} AND ${isInFlight('t')}
        AND ${unchangedFor('$3')}
      ORDER BY nonce LIMIT ${MOST_STUCK}) AS ids) AS s
   ORDER BY lane.n`

/** Lanes that ask in the same turn of the event loop share a statement. */
export function createLaneLooks(pool: Pool): LaneLooks {
  const together = { most: MOST, isShared: isConnectionFailure }
  const look = gathering((asked: readonly (Lane & LookWanted)[]) => readLooks(pool, asked), together)
  const toSubmit = gathering((asked: readonly (Lane & SubmitPage)[]) => readToSubmit(pool, asked), together)
  return {
    look: async (lane, wanted) => one(await look([{ ...lane, ...wanted }])),
    toSubmit: async (lane, page) => one(await toSubmit([{ ...lane, ...page }])),
  }
}

async function readLooks(pool: Pool, asked: readonly (Lane & LookWanted)[]): Promise<LaneLook[]> {
  const [first] = asked
  const { rows } = await pool.query<LaneLook>({
    name: 'look_at_lanes',
    text: LOOK,
    values: [
      asked.map(({ chainId }) => chainId),
      asked.map(({ address }) => address),
      first?.unchangedMs,
      first?.maxInFlight,
      first?.limit,
      asked.flatMap(({ except }) => except),
    ],
  })
  return rows
}

async function readToSubmit(pool: Pool, asked: readonly (Lane & SubmitPage)[]): Promise<string[][]> {
  const [first] = asked
  const { rows } = await pool.query<{ ids: string[] }>({
    name: 'lanes_to_submit',
    text: `SELECT array(SELECT transaction_id FROM transactions WHERE ${OF_LANE} AND nonce > lane.after_nonce
                    AND ${hasNonce('transactions')} AND (state IN ${UNSENT} OR (state = 'submitted' AND ${unchangedFor('$4')}))
                  ORDER BY nonce LIMIT $5) AS ids
             FROM unnest($1::integer[], $2::text[], $3::bigint[]) WITH ORDINALITY AS lane(chain_id, address, after_nonce, n)
            ORDER BY lane.n`,
    values: [
      asked.map(({ chainId }) => chainId),
      asked.map(({ address }) => address),
      asked.map(({ afterNonce }) => afterNonce),
      first?.forgottenAfterMs,
      first?.limit,
    ],
  })
  return rows.map(({ ids }) => ids)
}

function one<Answer>([answer]: readonly Answer[]): Answer {
  if (answer === undefined) throw new Error('a read returned too few rows')
  return answer
}
