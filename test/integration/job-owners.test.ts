/** The owner of each job, and the tenants whose work a sweep finds, on read models of a real PostgreSQL. */
import type { Pool } from 'pg'
import t from 'tap'
import { balanceWork } from '../../src/balances/jobs.ts'
import { createPlaceJobs } from '../../src/compose/place-jobs.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { refreshWork } from '../../src/mpc-wallets/capability.ts'
import { voucherWork } from '../../src/nft/tokens/jobs.ts'
import { exportWork } from '../../src/recovery/jobs.ts'
import { signatureWork } from '../../src/signatures/capability.ts'
import { createFindUnfinishedLanes } from '../../src/transactions/jobs.ts'
import { walletWork } from '../../src/wallets/jobs.ts'
import { withDatabase } from '../support/postgres.ts'

const FILLING: Readonly<Record<string, unknown>> = {
  text: 'x',
  integer: 1,
  bigint: 1,
  numeric: 1,
  jsonb: [],
  ARRAY: [],
  'timestamp with time zone': '2026-01-01T00:00:00Z',
}

/** Inserts a row; required columns without a value are filled with anything. */
async function insert(pool: Pool, table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const { rows } = await pool.query<{ column_name: string; data_type: string }>(
    `SELECT column_name, data_type FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = $1 AND is_nullable = 'NO'`,
    [table],
  )
  const filled = Object.fromEntries(rows.map(({ column_name, data_type }) => [column_name, FILLING[data_type]]))
  await pool.query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, $1)`, [
    JSON.stringify({ ...filled, ...row }),
  ])
}

const AGO = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
const address = (n: number) => `0x${String(n).padStart(40, '0')}`
const walletId = (n: number) => `wal_ffffffff-ffff-7000-8000-${String(n).padStart(12, '0')}`

/**
 * Inserts the wallet `n` of a tenant, and one item of every kind of work for it that has waited for this many minutes.
 */
async function insertWork(pool: Pool, n: number, tenant: string, type: string, minutes: number): Promise<void> {
  const owner = { tenant_id: tenant, wallet_id: walletId(n) }
  const at = { created_at: AGO(minutes), requested_at: AGO(minutes), updated_at: AGO(minutes) }
  const request = { state: 'requested', status: 'pending', chain_id: 1, from_address: address(n) }
  await insert(pool, 'wallets', { ...owner, ...at, type, status: 'requested', chain_id: 1, address: address(n) })
  await insert(pool, 'signatures', { ...owner, ...at, signature_id: `sig_${n}` })
  await insert(pool, 'nft_vouchers', { ...owner, ...at, mint_id: `mint_${n}` })
  await insert(pool, 'wallet_exports', { ...owner, ...at, export_id: `exp_${n}`, status: 'requested' })
  await insert(pool, 'mpc_keys', { ...owner, ...at, key_id: `mpk_${n}` })
  await insert(pool, 'mpc_refreshes', { ...at, key_id: `mpk_${n}`, refresh_id: `rfr_${n}`, status: 'pending' })
  await insert(pool, 'transactions', { ...owner, ...at, ...request, transaction_id: `tx_${n}` })
}

const LAST = 8

t.test('a sweep finds work of every tenant, however much of one has waited for longer', async (t) => {
  const { pool } = await withDatabase(t)
  for (let n = 0; n < LAST; n += 1) await insertWork(pool, n, 'acme', 'hd', 60 - n)
  await insertWork(pool, LAST, 'globex', 'hd', 2)
  const before = new Date(Date.now() - 60_000)
  const finds: Readonly<Record<string, (limit: number) => Promise<Job[]>>> = {
    wallets: (limit) => walletWork.findQuiet(pool, before, limit),
    shares: (limit) => refreshWork.findQuiet(pool, before, limit),
    vouchers: (limit) => voucherWork.findQuiet(pool, before, limit),
    signatures: (limit) => signatureWork.findQuiet(pool, before, limit),
    exports: (limit) => exportWork.findQuiet(pool, before, limit),
    balances: (limit) => balanceWork.findQuiet(pool, before, limit),
    lanes: createFindUnfinishedLanes(pool, { quietMs: 60_000, sentMs: 60_000 }),
  }
  const isOf = (n: number) => (job: Job) =>
    [walletId(n), `1-${address(n)}`].includes(job.id) || job.id.endsWith(`_${n}`)
  for (const [name, find] of Object.entries(finds)) {
    const found = await find(4)
    t.equal(found.length, 4, name)
    t.ok(found.some(isOf(0)), `${name}: the oldest job of the first tenant is found`)
    t.ok(found.some(isOf(LAST)), `${name}: the only job of the other tenant is found`)
  }
})

t.test('a job goes to the queue of its kind of key, and names its tenant', async (t) => {
  const { pool } = await withDatabase(t)
  await insertWork(pool, 1, 'acme', 'hd', 1)
  await insertWork(pool, 2, 'globex', 'mpc', 1)
  const place = createPlaceJobs(pool)
  const work = (n: number): Job[] => [
    { queue: 'lane', id: `1-${address(n)}`, data: { lane: `1-${address(n)}` } },
    { queue: 'submit', id: `1-${address(n)}`, data: { lane: `1-${address(n)}` } },
    { queue: 'wallet', id: walletId(n), data: { wallet_id: walletId(n) } },
    { queue: 'observe', id: walletId(n), data: { wallet_id: walletId(n) } },
    { queue: 'voucher', id: `mint_${n}`, data: { mint_id: `mint_${n}` } },
    { queue: 'signature', id: `sig_${n}`, data: { signature_id: `sig_${n}` } },
    { queue: 'shares', id: `mpk_${n}`, data: { key_id: `mpk_${n}` } },
    { queue: 'export', id: `exp_${n}`, data: { export_id: `exp_${n}` } },
  ]
  const unknown: Job = { queue: 'signature', id: 'sig_9', data: { signature_id: 'sig_9' } }
  const hd = work(1).map((job) => ({ ...job, data: { ...job.data, tenant_id: 'acme' } }))
  const mpcQueues = ['mpc-lane', 'submit', 'mpc-wallet', 'observe', 'mpc-voucher', 'mpc-signature', 'shares', 'export']
  const mpc = work(2).map((job, index) => ({
    ...job,
    queue: mpcQueues[index],
    data: { ...job.data, tenant_id: 'globex' },
  }))
  t.strictSame(await place([...work(1), unknown]), [...hd, unknown])
  t.strictSame(await place([...work(1), ...work(2)]), [...hd, ...mpc], 'both lanes are placed in one call')
  t.strictSame(await place(work(2)), mpc)
  t.strictSame(await place([]), [])
})
