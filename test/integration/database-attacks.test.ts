/**
 * Attacks with the database login of one process, on a real PostgreSQL with the golden log. The database refuses them,
 * or whoever signs does: it believes no event because of its type.
 */
import pg from 'pg'
import t from 'tap'
import type { ChainClients } from '../../src/chain/client-set.ts'
import { composeCheckRecorded } from '../../src/compose/check-recorded.ts'
import { composeCheckRequests } from '../../src/compose/check-requests.ts'
import { DISPATCHER } from '../../src/compose/dispatcher.ts'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import type { DatabaseRole } from '../../src/core/database-roles.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { attempt, openSession } from '../support/door-attempts.ts'
import { appendStatement, decisionOf, type GoldenEvent, makeRoom, writeGoldenLog } from '../support/door-events.ts'
import { claimed, FORGERIES, LEASE, like, MISPLACED, statements, TAMPERINGS } from '../support/login-attacks.ts'
import { MIGRATIONS, withDatabase } from '../support/postgres.ts'
import { makeProcessLogins } from '../support/process-logins.ts'

/** Of a statement that is wrong, and not refused: syntax, and names that do not exist. */
const MISTAKES = new Set(['42601', '42883', '42703', '42P01', '22P02'])

const { pool: owner, url } = await withDatabase(t)
const logins = await makeProcessLogins(owner, url)
t.teardown(logins.drop)
const streams = await writeGoldenLog(owner)
const sessions = new Map<DatabaseRole, pg.Client>()

async function outcomeOf(login: DatabaseRole, statement: string): Promise<string | null> {
  const session = sessions.get(login) ?? (await openSession(logins.urlOf(login)))
  if (!sessions.has(login)) t.teardown(() => session.end())
  sessions.set(login, session)
  const [outcome] = await attempt(session, [statement])
  if (outcome === undefined || MISTAKES.has(outcome.code ?? ''))
    throw new Error(`${outcome?.code} ${outcome?.message}: ${statement.slice(0, 200)}`)
  return outcome.code
}

for (const attack of [...TAMPERINGS, ...MISPLACED]) {
  const { name, login, event, schemaVersion, tamper } = attack
  t.test(`the database refuses ${name} from the login of the ${login}`, async (t) => {
    const sent = decisionOf(event, claimed(attack, streams), schemaVersion)
    const honest = decisionOf(event, streams)
    await makeRoom(owner, honest)
    if (!MISPLACED.includes(attack))
      t.equal(await outcomeOf(login, appendStatement(honest)), null, 'as it is, the append is accepted')
    t.not(await outcomeOf(login, appendStatement(sent, tamper)), null, name)
  })
}

t.test('the database refuses statements that take what belongs to another process', async (t) => {
  await owner.query("INSERT INTO swap_quotes VALUES ('quo_1', 'acme', 'wal_1', '{}', now() + interval '1 hour')")
  await owner.query(`INSERT INTO checkpoints VALUES ('${DISPATCHER}', '1', 1, now()) ON CONFLICT DO NOTHING`)
  const { rows } = await owner.query<{ fence: string }>(`SELECT acquire_lease('${LEASE}', 'signer', 600000) AS fence`)
  for (const { name, login, text } of statements(rows[0]?.fence ?? ''))
    t.equal(await outcomeOf(login, text), '42501', `${login}: ${name}`)
})

/** The check of a party: with its own login, of a chain whose node it does not need. */
function checkOfParty() {
  const pool = new pg.Pool({ connectionString: logins.urlOf('party'), max: 2 })
  t.teardown(() => pool.end())
  const wakeUps = createWakeUps(pool, logins.urlOf('party'))
  t.teardown(() => wakeUps.close())
  const log = createEventLog({ pool, wakeUps, clock: Date.now })
  const chains = { all: [], byChainId: () => undefined } as unknown as ChainClients
  const walletOf = createSigningWalletOf(composeRecordedWallets({ log, pool }))
  const parts = { log, pool, chains, clock: Date.now }
  return composeCheckRecorded(parts, walletOf, null, composeCheckRequests(parts, { counts: false }))
}

async function append(event: GoldenEvent, session: pg.ClientBase | pg.Pool = owner): Promise<void> {
  const decision = decisionOf(event, streams)
  await makeRoom(owner, decision)
  await session.query(appendStatement(decision))
  streams.set(event.stream_id, decision.after)
}

t.test('whoever signs refuses what a login can append', async (t) => {
  const check = checkOfParty()
  const problemOf = async (id: string) => (await check([id]))[0]?.problem
  // The wallet of the golden log names an index that its log assigns to nobody.
  await append(like('KeyIndexAllotted', 'acme', { index: 7 }))
  for (const { name, login, before, forged, after, transactionId, honest, honestId } of FORGERIES) {
    for (const event of honest) await append(event)
    t.equal(await problemOf(honestId), null, `an honest one may be signed: ${name}`)
    for (const event of before) await append(event)
    const session = await openSession(logins.urlOf(login))
    await append(forged, session).finally(() => session.end())
    for (const event of after) await append(event)
    t.type(await problemOf(transactionId), 'string', `${login}: ${name}`)
  }
})

t.test('no append and no lease waits for an advisory lock, which those who use queues can take', async (t) => {
  const holder = await openSession(logins.urlOf('sender'))
  try {
    await holder.query('BEGIN; SELECT pg_advisory_xact_lock(n) FROM generate_series(4117000, 4117099) AS n')
    const event = decisionOf(like('TransferRequested', 'tx_locked'), streams)
    await makeRoom(owner, event)
    t.equal(await outcomeOf('api', appendStatement(event)), null)
    t.equal(await outcomeOf('signer', "SELECT acquire_lease('sign-1-0xc', 'signer', 1000)"), null)
    const { rows } = await owner.query(
      "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosrc LIKE '%advisory%' ORDER BY 1",
    )
    const named = [{ proname: 'lock_checkpoints' }, { proname: 'try_lock_rotations' }]
    t.strictSame(rows, named, 'no other function of Bursar takes one')
  } finally {
    await holder.end()
  }
})

t.test('what a login has changed of itself does not survive the next migration', async (t) => {
  const name = 'the settings of its own login'
  const url = new URL(logins.urlOf('signer'))
  const own = new pg.Client({ connectionString: url.href })
  await own.connect()
  await own.query("ALTER ROLE CURRENT_USER SET search_path = 'pg_temp'")
  await own.query("ALTER ROLE CURRENT_USER SET default_transaction_read_only = 'on'")
  await own.end()
  const login = { user: url.username, password: url.password, roles: ['signer'] } as const
  await migrateDatabase(owner, { databaseUrl: url.href, directory: MIGRATIONS, queues: false, logins: [login] })
  const { rows } = await owner.query('SELECT setconfig FROM pg_db_role_setting WHERE setrole = $1::regrole', [
    url.username,
  ])
  t.strictSame(rows, [], name)
})
