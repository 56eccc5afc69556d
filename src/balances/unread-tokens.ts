/**
 * Tokens whose balances could not be read. One whose contract misbehaves is quarantined: blocks are processed without
 * it until all its balances were read. The list is an observation of nodes, like prices, and not an event: another node
 * may differ, it only decides what is read next, and third-party contracts must not fill the log.
 *
 * Invariant: a read that left out a token is counted here before its block is committed, and a row is deleted only
 * after all balances of its token were read at a newer block: no deposit is missed.
 */
import type { Pool } from 'pg'
import type { TokenReadFailure } from '../chain/token-reads.ts'
import type { Row } from '../event-log/table-rows.ts'

/** Why a token could not be read. `timeout`: the node answers, but not for this contract. */
export type UnreadReason = TokenReadFailure | 'timeout'

/** @param contract EIP-55 */
export type FailedToken = { readonly contract: string; readonly reason: UnreadReason }

export type DueToken = Pick<Row<'unread_tokens'>, 'contract' | 'missed'>

export type UnreadTokens = {
  /** Which of these contracts are quarantined. Counts that they were left out. */
  readonly leaveOut: (chainId: number, contracts: readonly string[]) => Promise<ReadonlySet<string>>
  /**
   * Records failed reads: quarantines immediately for deliberate misbehaviour, after three strikes for other failures.
   */
  readonly note: (chainId: number, failed: readonly FailedToken[]) => Promise<void>
  /** Tokens to try again, longest due first. */
  readonly due: (chainId: number, limit: number) => Promise<readonly DueToken[]>
  /**
   * Resumes reads, including in blocks. @returns how often the token was left out so far; `null` when the row is gone
   */
  readonly release: (chainId: number, contract: string) => Promise<string | null>
  /** Deletes the row. @returns false when the token was left out since: the row stays */
  readonly settle: (chainId: number, token: DueToken) => Promise<boolean>
  /** Postpones the next try, with increasing delay. */
  readonly putOff: (chainId: number, contract: string) => Promise<void>
}

/** Deliberate misbehaviour leads to quarantine immediately; a silent node is no evidence against the contract. */
const STRIKES: Readonly<Record<UnreadReason, number>> = { gas: 3, size: 3, timeout: 1, none: 1, unread: 0 }
const QUARANTINE_STRIKES = 3

/** 5 s to 5 min for transient failures, 1 min to 1 h for a token in quarantine. */
const DELAY = `CASE WHEN %Q THEN least(60 * 2 ^ least(%A, 10), 3600) ELSE least(5 * 2 ^ least(%A, 10), 300) END * interval '1 second'`
const delay = (quarantined: string, attempts: string) => DELAY.replaceAll('%Q', quarantined).replaceAll('%A', attempts)

/** The interval of looks for tokens that another process added, ms: this one knows its own. */
const LOOK_INTERVAL_MS = 30_000

export function createUnreadTokens(pool: Pool): UnreadTokens {
  /** Until when a chain without unread tokens needs no look, by the process's timer. */
  const clearUntil = new Map<number, number>()
  let noted = 0
  return {
    async leaveOut(chainId, contracts) {
      if (contracts.length === 0) return new Set()
      const { rows } = await pool.query<Pick<Row<'unread_tokens'>, 'contract'>>({
        name: 'leave_out_tokens',
        text: `UPDATE unread_tokens SET missed = missed + 1
                WHERE chain_id = $1 AND contract = ANY ($2) AND quarantined_at IS NOT NULL RETURNING contract`,
        values: [chainId, contracts],
      })
      return new Set(rows.map(({ contract }) => contract))
    },

    async note(chainId, failed) {
      if (failed.length === 0) return
      const quarantined = `t.strikes + excluded.strikes >= ${QUARANTINE_STRIKES}`
      await pool.query({
        name: 'note_unread_tokens',
        text: `INSERT INTO unread_tokens AS t (chain_id, contract, since, reason, strikes, quarantined_at, retry_at)
               SELECT $1, f.contract, clock_timestamp(), f.reason, f.strikes,
                      CASE WHEN f.strikes >= ${QUARANTINE_STRIKES} THEN clock_timestamp() END,
                      clock_timestamp() + ${delay(`f.strikes >= ${QUARANTINE_STRIKES}`, '0')}
                 FROM unnest($2::text[], $3::text[], $4::integer[]) AS f(contract, reason, strikes) ORDER BY f.contract
               ON CONFLICT (chain_id, contract) DO UPDATE SET
                 missed = t.missed + 1,
                 reason = CASE WHEN excluded.strikes > 0 OR t.strikes = 0 THEN excluded.reason ELSE t.reason END,
                 strikes = least(t.strikes + excluded.strikes, ${QUARANTINE_STRIKES}),
                 quarantined_at = coalesce(t.quarantined_at, CASE WHEN ${quarantined} THEN clock_timestamp() END),
                 retry_at = CASE WHEN t.quarantined_at IS NULL AND ${quarantined}
                              THEN clock_timestamp() + ${delay('true', 't.attempts')} ELSE t.retry_at END`,
        values: [
          chainId,
          failed.map(({ contract }) => contract),
          failed.map(({ reason }) => reason),
          failed.map(({ reason }) => STRIKES[reason]),
        ],
      })
      noted += 1
      clearUntil.delete(chainId)
    },

    async due(chainId, limit) {
      if (performance.now() < (clearUntil.get(chainId) ?? 0)) return []
      const notedBefore = noted
      const { rows } = await pool.query<DueToken & { readonly is_due: boolean }>({
        name: 'due_unread_tokens',
        text: `SELECT contract, missed, retry_at <= clock_timestamp() AS is_due FROM unread_tokens WHERE chain_id = $1
                ORDER BY retry_at LIMIT $2`,
        values: [chainId, limit],
      })
      if (rows.length === 0 && noted === notedBefore) clearUntil.set(chainId, performance.now() + LOOK_INTERVAL_MS)
      return rows.filter(({ is_due }) => is_due).map(({ contract, missed }) => ({ contract, missed }))
    },

    async release(chainId, contract) {
      const { rows } = await pool.query<Pick<Row<'unread_tokens'>, 'missed'>>({
        name: 'release_unread_token',
        text: `UPDATE unread_tokens SET quarantined_at = NULL, strikes = 0 WHERE chain_id = $1 AND contract = $2
               RETURNING missed`,
        values: [chainId, contract],
      })
      return rows[0]?.missed ?? null
    },

    async settle(chainId, { contract, missed }) {
      const { rowCount } = await pool.query({
        name: 'settle_unread_token',
        text: 'DELETE FROM unread_tokens WHERE chain_id = $1 AND contract = $2 AND missed = $3',
        values: [chainId, contract, missed],
      })
      return rowCount === 1
    },

    async putOff(chainId, contract) {
      await pool.query({
        name: 'put_off_unread_token',
        text: `UPDATE unread_tokens AS t SET attempts = attempts + 1,
                      retry_at = clock_timestamp() + ${delay('t.quarantined_at IS NOT NULL', '(t.attempts + 1)')}
                WHERE chain_id = $1 AND contract = $2`,
        values: [chainId, contract],
      })
    },
  }
}
