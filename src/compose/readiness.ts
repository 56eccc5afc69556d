/** What the API needs to do its work, checked for `/readyz`. */
import type { ReadinessCheck } from '../http/health.ts'
import { createHasSigner } from '../wallets/signer-presence.ts'
import { DISPATCHER } from './dispatcher.ts'
import type { Kernel } from './kernel.ts'

/** A follower that has not heard its node for so long follows nothing. */
const MAX_HEAD_AGE_MS = 60_000
/** Events that wait longer for their jobs mean that no dispatcher leads. */
const MAX_DISPATCH_LAG_MS = 30_000

export function readinessChecks({ pool, jobs, chains }: Kernel): ReadinessCheck[] {
  const hasSigner = createHasSigner(pool)
  return [
    { name: 'database', check: async () => void (await pool.query('SELECT 1')) },
    { name: 'queue', check: () => jobs.ping() },
    {
      name: 'signer',
      async check() {
        if (!(await hasSigner(null)))
          throw new Error('no signer process has given a sign of life lately: start workers/signer')
      },
    },
    { name: 'projection', check: () => checkDispatch(pool) },
    ...chains.all.map(({ settings: { chainId, network, environment } }) => ({
      name: environment === 'mainnet' ? `chain:${network}` : `chain:${network}-${environment}`,
      check: () => checkHead(pool, chainId),
    })),
  ]
}

async function checkHead(pool: Kernel['pool'], chainId: number): Promise<void> {
  const { rows } = await pool.query<{ age_ms: string }>(
    'SELECT extract(epoch FROM clock_timestamp() - updated_at) * 1000 AS age_ms FROM chain_cursors WHERE chain_id = $1',
    [chainId],
  )
  const [row] = rows
  if (row === undefined)
    throw new Error('the chain was never followed: start workers/chain-follower, and see that its RPC URLs answer')
  if (Number(row.age_ms) > MAX_HEAD_AGE_MS)
    throw new Error(`the follower has heard no node for ${Math.round(Number(row.age_ms) / 1_000)} s`)
}

async function checkDispatch(pool: Kernel['pool']): Promise<void> {
  const { rows } = await pool.query<{ lag_ms: string | null }>(
    `SELECT extract(epoch FROM clock_timestamp() - e.recorded_at) * 1000 AS lag_ms FROM events e
      WHERE (e.transaction_id, e.position) > (coalesce((SELECT transaction_id FROM checkpoints WHERE name = $1), '0'::xid8),
                                              coalesce((SELECT position FROM checkpoints WHERE name = $1), 0))
      ORDER BY e.transaction_id, e.position LIMIT 1`,
    [DISPATCHER],
  )
  const lagMs = Number(rows[0]?.lag_ms ?? 0)
  if (lagMs > MAX_DISPATCH_LAG_MS)
    throw new Error(`events wait for their jobs for ${Math.round(lagMs / 1_000)} s: start workers/dispatcher`)
}
