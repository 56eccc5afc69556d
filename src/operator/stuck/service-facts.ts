/**
 * The state of the service in the database: live processes, leaders, waiting work. Read only; a fixed number of
 * queries.
 */
import type { Pool } from 'pg'
import { type OpenTransactions, readOpenTransactions } from '../../event-log/open-transactions.ts'
import { CHECKPOINTS, EVENTS, HEARTBEATS, LEASES } from '../../event-log/sql.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { isInBlock, TRANSACTIONS } from '../../transactions/sql.ts'
import type { ProcessNow } from '../for-operators.ts'
import type { OperatorContext } from '../operator-context.ts'

export type LeaderNow = { readonly name: string; readonly holder: string; readonly expiresInMs: number }
export type SubscriptionNow = { readonly name: string; readonly lagMs: number }
export type CursorNow = {
  readonly chainId: number
  readonly number: number
  /** The last head that the follower saw. */
  readonly head: number
  readonly silentMs: number
}
/** A chain whose follower does not move although it should. */
export type StallNow = {
  readonly chainId: number
  readonly reason: string
  /** It only waits for a quorum of the nodes. */
  readonly waits: boolean
  /** It waits for an operator: what it would undo is final, or the whole chain. */
  readonly refused: boolean
  readonly sinceMs: number
}
export type AccusedKey = {
  readonly keyId: string
  readonly walletId: string | null
  readonly accusations: readonly { readonly party: number; readonly accused_by: number }[]
}
export type BannedKey = { readonly keyId: string; readonly walletId: string | null; readonly banned: readonly number[] }
/** One kind of overdue work: the oldest, and how many, at most a hundred. */
export type WaitingWork = { readonly name: string; readonly ids: readonly string[] }

/** A quarantined token. */
export type TokenNow = {
  readonly chainId: number
  /** EIP-55. */
  readonly contract: string
  readonly reason: string
  /** Time since its balances may be outdated, ms. */
  readonly sinceMs: number
  /** Time until the next try, ms; negative when overdue. */
  readonly retryInMs: number
  /** Number of failed tries. */
  readonly attempts: number
  /** Tenants that registered it; none for a configured token. */
  readonly tenants: readonly string[]
}

export type ServiceFacts = {
  readonly processes: readonly ProcessNow[]
  readonly leaders: readonly LeaderNow[]
  readonly subscriptions: readonly SubscriptionNow[]
  readonly openTransactions: OpenTransactions
  readonly cursors: readonly CursorNow[]
  readonly stalls: readonly StallNow[]
  readonly bannedKeys: readonly BannedKey[]
  readonly accusedKeys: readonly AccusedKey[]
  readonly waiting: readonly WaitingWork[]
  /** Quarantined tokens, newest first. */
  readonly unreadTokens: readonly TokenNow[]
  /** By chain id: how many have enough confirmations but are not settled, and the lowest of their blocks. */
  readonly unsettled: readonly {
    readonly chainId: number
    readonly count: number
    readonly id: string
    readonly ms: number
  }[]
}

/** Maximum per kind of waiting work. */
const MAX_WAITING = 100
const MAX_BANNED = 100
const MAX_TOKENS = 50
const age = (since: string) => `extract(epoch FROM clock_timestamp() - ${since})::double precision * 1000`

/**
 * @param confirmations required ones, by chain id
 * @param before work requested later may still be in progress
 */
export async function readServiceFacts(
  { pool, sources }: Pick<OperatorContext, 'pool' | 'sources'>,
  confirmations: ReadonlyMap<number, number>,
  before: Date,
): Promise<ServiceFacts> {
  const rows = async <T extends object>(text: string, values: unknown[] = []) =>
    (await pool.query<T>(text, values)).rows
  const [
    processes,
    leaders,
    subscriptions,
    openTransactions,
    cursors,
    stalls,
    bannedKeys,
    accusedKeys,
    unreadTokens,
    unsettled,
    waiting,
  ] = await Promise.all([
    readProcesses(pool),
    rows<LeaderNow>(
      `SELECT name, holder, -${age('expires_at')} AS "expiresInMs" FROM ${LEASES} AS leases
        WHERE holder IS NOT NULL AND name !~ '^(sign|submit)-' ORDER BY name`,
    ),
    rows<SubscriptionNow>(LAGS),
    readOpenTransactions(pool),
    readCursors(pool),
    rows<StallNow>(
      `SELECT chain_id AS "chainId", reason, waits, refusal IS NOT NULL AS refused, ${age('since')} AS "sinceMs" FROM chain_stalls`,
    ),
    rows<BannedKey>(
      `SELECT key_id AS "keyId", wallet_id AS "walletId", banned FROM mpc_keys WHERE banned <> '[]' ORDER BY key_id LIMIT ${MAX_BANNED}`,
    ),
    rows<AccusedKey>(
      `SELECT key_id AS "keyId", wallet_id AS "walletId", accusations FROM mpc_keys
        WHERE accusations <> '[]' AND banned = '[]' ORDER BY key_id LIMIT ${MAX_BANNED}`,
    ),
    rows<TokenNow>(TOKENS),
    readUnsettled(pool, confirmations),
    Promise.all(
      sources.map(async ({ name, find }) => ({ name, ids: (await find(before, MAX_WAITING)).map(({ id }) => id) })),
    ),
  ])
  return {
    processes,
    leaders,
    subscriptions,
    openTransactions,
    cursors,
    stalls,
    bannedKeys,
    accusedKeys,
    unreadTokens,
    unsettled,
    waiting,
  }
}

export async function readProcesses(pool: Pool): Promise<ProcessNow[]> {
  const text = `SELECT process, instance, ${age('beat_at')} AS "silentMs", problem FROM ${HEARTBEATS} AS heartbeats ORDER BY process, instance`
  return (await pool.query<ProcessNow>(text)).rows
}

export async function readCursors(pool: Pool): Promise<CursorNow[]> {
  const text = `SELECT chain_id AS "chainId", number::double precision, head::double precision, ${age('updated_at')} AS "silentMs"
                  FROM chain_cursors`
  return (await pool.query<CursorNow>(text)).rows
}

const TOKENS = `
  SELECT u.chain_id AS "chainId", u.contract, u.reason, ${age('u.since')} AS "sinceMs", -${age('u.retry_at')} AS "retryInMs", u.attempts,
         ARRAY(SELECT tenant_id FROM assets a WHERE a.chain_id = u.chain_id AND lower(a.contract_address) = lower(u.contract)
                  AND a.removed_at IS NULL ORDER BY tenant_id) AS tenants
    FROM unread_tokens u WHERE u.quarantined_at IS NOT NULL ORDER BY u.quarantined_at DESC LIMIT ${MAX_TOKENS}`

/**
 * How long the oldest event after each checkpoint has waited. Events delayed by an open transaction are reported for
 * that transaction.
 */
const LAGS = `
  SELECT c.name, coalesce(${age('e.recorded_at')}, 0) AS "lagMs" FROM ${CHECKPOINTS} c
    LEFT JOIN LATERAL (SELECT recorded_at FROM ${EVENTS} AS events WHERE (transaction_id, position) > (c.transaction_id, c.position)
                          AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
                        ORDER BY transaction_id, position LIMIT 1) AS e ON true
   ORDER BY c.name`

async function readUnsettled(
  pool: Pool,
  confirmations: ReadonlyMap<number, number>,
): Promise<ServiceFacts['unsettled']> {
  const { rows } = await pool.query<{
    chainId: Row<'transactions'>['chain_id']
    count: string
    id: Row<'transactions'>['transaction_id']
    ms: number
  }>(
    `SELECT t.chain_id AS "chainId", count(*) AS count, min(t.transaction_id) AS id, max(${age('t.updated_at')}) AS ms
       FROM unnest($1::integer[], $2::integer[]) AS chain(id, confirmations)
       JOIN chain_cursors c ON c.chain_id = chain.id
       JOIN ${TRANSACTIONS} t ON t.chain_id = c.chain_id AND ${isInBlock('t')} AND t.block_number <= c.number - chain.confirmations + 1
      GROUP BY t.chain_id`,
    [[...confirmations.keys()], [...confirmations.values()]],
  )
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}
