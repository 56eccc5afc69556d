/** The dependencies of the API, checked for `/readyz`. */
import { whoIsBelieved } from '../chain/agreed-block.ts'
import { type OpenTransaction, openFor, readOpenTransactions } from '../event-log/open-transactions.ts'
import { CHECKPOINTS, EVENTS, HEARTBEATS } from '../event-log/sql.ts'
import type { Row } from '../event-log/table-rows.ts'
import { CURSORS, STALLS } from '../follower/sql.ts'
import type { ReadinessCheck } from '../http/health.ts'
import { chainName } from '../operator/words.ts'
import { FRESH_SECONDS, hasSigner } from '../wallets/signer-presence.ts'
import { databaseReadiness } from './check-database.ts'
import { DISPATCHER } from './dispatcher.ts'
import type { Kernel } from './kernel.ts'
import { STALLED_AFTER_MS, stalled } from './usable-networks.ts'

/** A follower that has recorded nothing for this long is not running. */
const MAX_HEAD_AGE_MS = 60_000
/** Events must be delayed by an open transaction, not by another append that is about to commit. */
const HELD_MS = 1_000
const MAX_QUERY = 80

const LIMITS = {
  /** Readable events that wait longer for their jobs mean that no dispatcher leads. */
  dispatchLagMs: 30_000,
  openTransactionMs: 30_000,
}

export function readinessChecks(kernel: Kernel, limits = LIMITS): ReadinessCheck[] {
  const { pool, jobs, chains } = kernel
  return [
    databaseReadiness(pool),
    { name: 'queue', check: () => jobs.ping() },
    {
      name: 'signer',
      async check() {
        if (!(await hasSigner(pool, null)))
          throw new Error('no signer process has sent a heartbeat recently: start workers/signer')
      },
    },
    { name: 'projection', check: createCheckDispatch(pool, limits.dispatchLagMs) },
    {
      name: 'submitter',
      check: async () => undefined,
      warning: () => warnOfSubmitters(pool),
    },
    {
      // Requests are still accepted and answered meanwhile: removing every API would turn a delay into an outage.
      name: 'log_readers',
      check: async () => undefined,
      warning: () => warnOfTransactions(pool, limits.openTransactionMs),
    },
    ...chains.all.map(({ settings: { chainId, network, environment }, multicall, client }) => ({
      name: environment === 'mainnet' ? `chain:${network}` : `chain:${network}-${environment}`,
      isNetwork: true,
      check: () => checkHead(pool, chainId),
      state: () => whoIsBelieved(client),
      warning: async () => (await warnOfWaiting(pool, chainId)) ?? multicall.problem(),
    })),
    ...forkChecks(kernel),
    ...traceChecks(kernel),
  ]
}

/** The rules that each chain runs, and a warning where they are unknown. */
function forkChecks({ chains }: Pick<Kernel, 'chains'>): ReadinessCheck[] {
  return chains.all.map(({ settings, forks }) => ({
    name: `fork:${chainName(settings)}`,
    check: async () => undefined,
    state: async () => (await forks.status()).fork,
    async warning() {
      const { problem, source } = await forks.status()
      return problem === null || source === 'nothing'
        ? null
        : `${problem}: gas is held as nodes estimate it; update Bursar`
    },
  }))
}

/** How the nodes of each chain trace blocks. A chain is followed without it: what contracts pay is then found by balances. */
function traceChecks({ chains }: Kernel): ReadinessCheck[] {
  return chains.all.map(({ settings, traces }) => ({
    name: `traces:${chainName(settings)}`,
    check: async () => undefined,
    state: () => traces.state(),
  }))
}

async function checkHead(pool: Kernel['pool'], chainId: number): Promise<void> {
  const { rows } = await pool.query<{ age_ms: number | null; why: string | null; stalled_ms: number | null }>(
    `SELECT ${millisecondsSince('c.updated_at')} AS age_ms, s.reason AS why, ${millisecondsSince('s.since')} AS stalled_ms
       FROM (SELECT $1::integer AS chain_id) AS chain LEFT JOIN ${CURSORS} AS c USING (chain_id)
       LEFT JOIN ${STALLS} AS s ON s.chain_id = chain.chain_id AND NOT s.waits`,
    [chainId],
  )
  const [{ age_ms: ageMs = null, why = null, stalled_ms: stalledMs = null } = {}] = rows
  if (why !== null && (ageMs === null || (stalledMs ?? 0) > STALLED_AFTER_MS))
    throw new Error(stalled(why, stalledMs ?? 0))
  if (ageMs === null) throw new Error('the chain has never been followed: start workers/chain-follower')
  if (ageMs > MAX_HEAD_AGE_MS)
    throw new Error(`no follower has run for ${Math.round(ageMs / 1_000)} s: start workers/chain-follower`)
}

/** Signing and sending go on, so the API stays in service. */
async function warnOfWaiting(pool: Kernel['pool'], chainId: number): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'chain_stalls'>, 'reason'>>(
    `SELECT reason FROM ${STALLS} AS stalls WHERE chain_id = $1 AND waits`,
    [chainId],
  )
  return rows[0] === undefined ? null : `settling waits: ${rows[0].reason}`
}

/**
 * Counts only what the dispatcher could have read: another dispatcher could not read what an open transaction delays.
 */
function createCheckDispatch(pool: Kernel['pool'], maxLagMs: number): () => Promise<void> {
  let heldAt = Number.NEGATIVE_INFINITY
  return async () => {
    const { rows } = await pool.query<{ lag_ms: number; held_ms: number }>(
      `WITH checkpoint AS (SELECT transaction_id, position FROM ${CHECKPOINTS} AS checkpoints WHERE name = $1
                            UNION ALL SELECT '0'::xid8, 0 ORDER BY transaction_id DESC LIMIT 1),
            unread AS (SELECT e.recorded_at, e.transaction_id < pg_snapshot_xmin(pg_current_snapshot()) AS readable
                         FROM checkpoint c CROSS JOIN LATERAL (
                           (SELECT * FROM ${EVENTS} AS events WHERE (transaction_id, position) > (c.transaction_id, c.position)
                             ORDER BY transaction_id, position LIMIT 1)
                           UNION ALL
                           (SELECT * FROM ${EVENTS} AS events WHERE transaction_id >= pg_snapshot_xmin(pg_current_snapshot())
                             ORDER BY transaction_id, position LIMIT 1)) AS e)
       SELECT coalesce(max(${AGE_MS}) FILTER (WHERE readable), 0) AS lag_ms,
              coalesce(max(${AGE_MS}) FILTER (WHERE NOT readable), 0) AS held_ms FROM unread`,
      [DISPATCHER],
    )
    const [row] = rows
    if (row === undefined) return
    const now = performance.now()
    if (row.held_ms > HELD_MS) heldAt = now
    // Events that were delayed until a moment ago are old when they become readable.
    const lagMs = Math.min(row.lag_ms, now - heldAt)
    if (lagMs > maxLagMs)
      throw new Error(
        `events have waited for the dispatcher for ${Math.round(lagMs / 1_000)} s: start workers/dispatcher`,
      )
  }
}

function millisecondsSince(time: string): string {
  return `extract(epoch FROM clock_timestamp() - ${time})::double precision * 1000`
}

const AGE_MS = millisecondsSince('recorded_at')

/** What a live submitter leaves. Whether one runs is no check of the API: requests wait for it. */
async function warnOfSubmitters(pool: Kernel['pool']): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'heartbeats'>, 'problem'>>(
    `SELECT problem FROM ${HEARTBEATS} AS heartbeats
      WHERE process = 'submitter' AND problem IS NOT NULL AND ${millisecondsSince('beat_at')} < $1 ORDER BY instance LIMIT 1`,
    [FRESH_SECONDS * 1_000],
  )
  return rows[0]?.problem ?? null
}

async function warnOfTransactions(pool: Kernel['pool'], longerThanMs: number): Promise<string | null> {
  const [oldest] = openFor(await readOpenTransactions(pool), longerThanMs)
  if (oldest === undefined) return null
  const { pid, prepared, user, database, application, openMs } = oldest
  const who = pid === null ? `the prepared transaction ${prepared}` : `pid ${pid}`
  const details = [`user ${user}`, `database ${database}`, application ? `application ${application}` : null]
  return (
    `${who} has had a transaction open for ${Math.round(openMs / 1_000)} s ` +
    `(${[...details.filter((detail) => detail !== null), statementOf(oldest)].join(', ')}): requests that were accepted since then are processed late, and clients get no newer events; ` +
    'npm run bursar -- stuck shows the next step'
  )
}

/** The route is public: a statement is truncated before its first value. */
function statementOf({ state, query }: OpenTransaction): string {
  if (query === null) return state ?? 'statement hidden'
  const shown = query
    .replaceAll(/\s+/g, ' ')
    .replace(/(['$]|--|\/\*).*/, '…')
    .replaceAll(/\d+/g, '?')
    .slice(0, MAX_QUERY)
  return `${state}: ${shown}`
}
