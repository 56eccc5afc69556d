/** Read-model tables on a real PostgreSQL: how to add a table that appends write. */
import t, { type Test } from 'tap'
import { decideNew, mustDecideOn, type ReadModelRow } from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/append.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { newTransactionId, seedWallet, transferIntent, withLog } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

async function withTable(t: Test, register: string) {
  const { pool, log } = await withLog(t)
  await pool.query('CREATE TABLE notes (author text, title text, body text, PRIMARY KEY (author, title))')
  await pool.query(register)
  const put = (...rows: readonly Record<string, string>[]) =>
    log.append({ decisions: [], rows: rows.map((row) => ({ table: 'notes', row }) as unknown as ReadModelRow) })
  const read = async () => (await pool.query('SELECT author, title, body FROM notes ORDER BY 1, 2')).rows
  return { pool, log, put, read }
}

t.test('one call lets a table join: its rows replace those of the same primary key', async (t: Test) => {
  const { put, read } = await withTable(t, "SELECT create_put_function('notes')")
  await put({ author: 'a', title: 'one', body: 'first' }, { author: 'a', title: 'two', body: 'first' })
  await put({ author: 'a', title: 'one', body: 'second' })
  t.same(await read(), [
    { author: 'a', title: 'one', body: 'second' },
    { author: 'a', title: 'two', body: 'first' },
  ])
})

t.test('a table whose first row stays keeps it, twice in one append too', async (t: Test) => {
  const { put, read } = await withTable(t, "SELECT create_put_function('notes', first_stays => true)")
  await put({ author: 'a', title: 'one', body: 'first' }, { author: 'a', title: 'one', body: 'first' })
  await put({ author: 'a', title: 'one', body: 'second' })
  t.same(await read(), [{ author: 'a', title: 'one', body: 'first' }])
})

t.test('a column that came later is written once the table is called for again', async (t: Test) => {
  const { pool, put } = await withTable(t, "SELECT create_put_function('notes')")
  await pool.query("ALTER TABLE notes ADD COLUMN mood text; SELECT create_put_function('notes')")
  await put({ author: 'a', title: 'one', body: 'b', mood: 'glad' })
  await put({ author: 'a', title: 'one', body: 'b', mood: 'calm' })
  t.same((await pool.query('SELECT mood FROM notes')).rows, [{ mood: 'calm' }])
})

t.test('the tables that joined before are still written', async (t: Test) => {
  const { pool, log } = await withTable(t, "SELECT create_put_function('notes')")
  await seedWallet(pool, { walletId: 'wal_1', balance: 1n })
  const { rows } = await pool.query('SELECT to_jsonb(w) || \'{"label": "new"}\' AS row FROM wallets AS w')
  await log.append({ decisions: [], rows: [{ table: 'wallets', row: rows[0].row }] })
  t.same((await pool.query('SELECT label FROM wallets')).rows, [{ label: 'new' }])
})

t.test('rows for a table that never joined are refused with the whole append', async (t: Test) => {
  const { put, read } = await withTable(t, 'SELECT 1')
  await t.rejects(put({ author: 'a', title: 'one', body: 'b' }), { message: /no put function: notes/ })
  t.same(await read(), [])
})

t.test('the tables of an append are written in the order of their names', async (t: Test) => {
  const { pool } = await withTable(t, "SELECT create_put_function('notes')")
  await pool.query(`
    CREATE TABLE zeta (name text PRIMARY KEY);
    SELECT create_put_function('zeta');
    CREATE TABLE written (n serial, name text);
    CREATE FUNCTION note_table() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO written (name) VALUES (TG_TABLE_NAME); RETURN NEW; END';
    CREATE TRIGGER written BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION note_table();
    CREATE TRIGGER written BEFORE INSERT ON zeta FOR EACH ROW EXECUTE FUNCTION note_table()`)
  const rows = { zeta: [{ name: 'z' }], notes: [{ author: 'a', title: 'one' }] }
  await pool.query('SELECT put_rows($1)', [rows])
  const written = await pool.query<{ name: string }>('SELECT name FROM written ORDER BY n')
  t.strictSame(
    written.rows.map(({ name }) => name),
    ['notes', 'zeta'],
  )
})

t.test('the statements for holds are planned once, for any number of accounts', async (t: Test) => {
  const { pool } = await withLog(t)
  const { rows } = await pool.query("SELECT proconfig FROM pg_proc WHERE proname = 'apply_holds'")
  t.strictSame(rows, [{ proconfig: ['plan_cache_mode=force_generic_plan'] }])
})

/** A transaction whose row is about to change, and the columns of its row that its next event leaves as they are. */
async function withTransaction(t: Test) {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 1_000_000n })
  const context = { metadata: { tenantId: 'acme', actor: 'test' }, now: '2026-01-01T00:00:00.000Z' }
  const id = newTransactionId()
  const request = { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() } as const
  const made = decideNew(transactionAggregate, id, request, context)
  await log.append({ decisions: [made] })
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const bytes = { nonce: 5, hash: '0xa', rawTransaction: '0x02', fees, signedAt: context.now }
  const signed = mustDecideOn(transactionAggregate, made.after, { type: 'RecordSignature', signed: bytes }, context)
  const read = async () =>
    (await pool.query('SELECT transaction_id, version, state, amount, nonce, hashes FROM transactions')).rows
  const row = { transaction_id: id, version: 2, state: 'signed', amount: '1000', nonce: '5', hashes: ['0xa'] }
  return { pool, log, signed, read, row }
}

t.test('a later event sends the columns that it changes, and the others stay', async (t: Test) => {
  const { log, signed, read, row } = await withTransaction(t)
  const [, , sent] = encodeBatch([{ decisions: [signed] }])
  matchExactly(t, JSON.parse(sent), { transactions: [{ after_version: 1, version: 2, nonce: 5, amount: undefined }] })
  await log.append({ decisions: [signed] })
  t.strictSame(await read(), [row])
})

t.test('a row that is missing or not at the version before is written whole', async (t: Test) => {
  for (const damage of [
    'DELETE FROM transactions',
    "UPDATE transactions SET version = 7, amount = 1, state = 'lost'",
  ]) {
    const { pool, log, signed, read, row } = await withTransaction(t)
    await pool.query(damage)
    await log.append({ decisions: [signed] })
    t.strictSame(await read(), [row], damage)
  }
})
