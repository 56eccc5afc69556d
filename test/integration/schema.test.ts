/** The schema on a real PostgreSQL: Prisma's schema file, and databases created before it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import * as access from '../../src/access/sql.ts'
import * as activity from '../../src/activity/sql.ts'
import { migrate } from '../../src/event-log/migrate.ts'
import * as mpcKeys from '../../src/mpc-wallets/sql.ts'
import * as nft from '../../src/nft/sql.ts'
import * as recovery from '../../src/recovery/sql.ts'
import { UNSIGNED } from '../../src/signatures/capability.ts'
import * as transactions from '../../src/transactions/sql.ts'
import * as wallets from '../../src/wallets/sql.ts'
import * as webhooks from '../../src/webhooks/sql.ts'
import { historyOf, insertEvent } from '../support/event-history.ts'
import { withDatabase, withOlderDatabase } from '../support/postgres.ts'

const PRISMA = fileURLToPath(new URL('../../prisma', import.meta.url))
const MIGRATIONS = join(PRISMA, 'migrations')

/** PostgreSQL's names of the schema's types. */
const TYPES: Readonly<Record<string, string>> = {
  String: 'text',
  'String[]': '_text',
  Int: 'int4',
  'Int[]': '_int4',
  BigInt: 'int8',
  Boolean: 'bool',
  Json: 'jsonb',
  'Json @db.Json': 'json',
  Bytes: 'bytea',
  DateTime: 'timestamptz',
  'DateTime @db.Date': 'date',
  Decimal: 'numeric',
  'Unsupported("xid8")': 'xid8',
}

/** `table column type null|not null` for each field of the schema. */
function columnsOf(page: string): string[] {
  return [...page.matchAll(/^model (\w+) \{\n([\s\S]*?)^\}/gm)].flatMap(([, table, fields = '']) =>
    [...fields.matchAll(/^ {2}(\w+)\s+([A-Za-z]+(?:\("\w+"\))?(?:\[\])?)(\??)( +@db\.(?:Json|Date)$)?/gm)].map(
      ([, column, type = '', optional, kind = '']) =>
        `${table} ${column} ${TYPES[type + kind.replace(/ +/, ' ')]} ${optional ? 'null' : 'not null'}`,
    ),
  )
}

t.test('the page of the schema and the migrations have the same columns', async (t) => {
  const { pool } = await withDatabase(t)
  const { rows } = await pool.query<{ line: string }>(
    `SELECT concat_ws(' ', table_name, column_name, udt_name, CASE is_nullable WHEN 'YES' THEN 'null' ELSE 'not null' END) AS line
       FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> '_prisma_migrations'`,
  )
  const page = columnsOf(await readFile(join(PRISMA, 'schema.prisma'), 'utf8'))
  t.strictSame(page.toSorted(), rows.map(({ line }) => line).toSorted())
})

/** The condition of each partial index on a state, from the code that runs the queries. */
const CONDITIONS: Readonly<Record<string, string>> = {
  api_keys_live: access.ACTIVE,
  api_keys_to_expire: access.TO_EXPIRE,
  mpc_refreshes_open: mpcKeys.OPEN,
  nft_vouchers_unsigned: nft.UNSIGNED,
  signatures_pending: UNSIGNED,
  signatures_pending_of_tenant: UNSIGNED,
  transactions_in_flight: transactions.hasNonce('transactions'),
  transactions_to_settle: transactions.inUnsettledBlock('transactions'),
  transactions_unmined_of_tenant: transactions.inNoBlock('transactions'),
  transactions_waiting: transactions.hasNoNonce('transactions'),
  transfers_to_confirm: activity.DETECTED,
  wallet_exports_waiting: recovery.REQUESTED,
  wallets_address_once: "status <> 'archived'",
  wallets_requested_of_tenant: wallets.REQUESTED,
  wallets_waiting_for_address: wallets.REQUESTED,
  webhook_deliveries_asked: webhooks.ASKED,
  webhook_deliveries_failed: "state = 'failed'",
  webhook_deliveries_live: webhooks.LIVE,
  webhook_deliveries_oldest: webhooks.PENDING,
  webhook_deliveries_replayed: webhooks.REPLAYED,
  webhook_deliveries_untold: webhooks.UNTOLD,
  webhook_deliveries_waiting: webhooks.TRIED,
  webhooks_of_tenant: webhooks.KNOWN,
}

t.test('each partial index over a state contains the states that the queries ask for', async (t) => {
  const { pool } = await withDatabase(t)
  const conditions = async () => {
    const { rows } = await pool.query<{ name: string; of: string; condition: string }>(
      `SELECT indexrelid::regclass::text AS name, indrelid::regclass::text AS of, pg_get_expr(indpred, indrelid) AS condition
         FROM pg_index JOIN pg_class ON pg_class.oid = indrelid AND relnamespace = 'public'::regnamespace
        WHERE pg_get_expr(indpred, indrelid) ~ '\\m(state|status|signature)\\M' ORDER BY indexrelid::regclass::text COLLATE "C"`,
    )
    return rows
  }
  const migrated = await conditions()
  t.strictSame(
    migrated.map(({ name }) => name),
    Object.keys(CONDITIONS).toSorted(),
    'every partial index is in CONDITIONS',
  )
  for (const { name, of } of migrated)
    await pool.query(`DROP INDEX ${name}; CREATE INDEX ${name} ON ${of} ((1)) WHERE ${CONDITIONS[name]}`)
  t.strictSame(migrated, await conditions())
})

t.test('older events belong to the environment of their wallet, collection or stream', async (t) => {
  const { pool } = await withOlderDatabase(t, '20261122000710')
  for (const [stream, version, type, data] of historyOf('testnet', 't'))
    await insertEvent(pool, stream, version, type, data)
  for (const [stream, version, type, data] of historyOf('mainnet', 'm'))
    await insertEvent(pool, stream, version, type, data)
  await migrate(pool, MIGRATIONS)
  const { rows } = await pool.query<{ stream_id: string; environment: string }>(
    'SELECT stream_id, environment FROM events',
  )
  for (const { stream_id, environment } of rows)
    t.equal(environment, stream_id.endsWith('_t') ? 'testnet' : 'mainnet', stream_id)
  await t.rejects(pool.query("UPDATE events SET environment = 'testnet'"), /append-only/)
})

t.test('the row of a transaction mined before calls were known has its success from the log', async (t) => {
  const { pool } = await withOlderDatabase(t, '20261121000400')
  const insert = async (id: string, block: number | null, ...outcomes: readonly boolean[]) => {
    const row = { transaction_id: id, chain_id: 1, asset_decimals: 18, amount: 1, hashes: [], history: [], version: 1 }
    const words = [
      'tenant_id',
      'wallet_id',
      'network',
      'environment',
      'type',
      'state',
      'status',
      'from_address',
      'to_address',
    ]
    const texts = [...words, 'asset_id', 'asset_symbol', 'gas_priority'].map((name) => [name, 'x'])
    const times = ['estimated_completion_at', 'created_at', 'updated_at'].map((name) => [name, '2026-01-01T00:00:00Z'])
    const whole = { ...row, ...Object.fromEntries([...texts, ...times]), fee_estimated: 1, block_number: block }
    await pool.query('SELECT put_transactions($1)', [JSON.stringify([whole])])
    for (const [n, succeeded] of outcomes.entries())
      await pool.query(
        `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
         VALUES ($1, $2, 'TransactionMined', 1, $3, '{}', now(), '')`,
        [`transaction-${id}`, n + 1, JSON.stringify({ succeeded })],
      )
  }
  await insert('tx_waiting', null)
  await insert('tx_reorged', null, true)
  await insert('tx_good', 7, false, true)
  await insert('tx_bad', 7, false)
  t.ok((await migrate(pool, MIGRATIONS)).applied.length > 0)
  const { rows } = await pool.query('SELECT transaction_id AS id, succeeded FROM transactions ORDER BY 1')
  t.strictSame(
    rows.map(({ id, succeeded }) => [id, succeeded]),
    [
      ['tx_bad', false],
      ['tx_good', true],
      ['tx_reorged', null],
      ['tx_waiting', null],
    ],
  )
})
