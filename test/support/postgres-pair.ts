/**
 * Two PostgreSQL servers behind one fixed address: a primary, and a standby that streams from it. The primary can be
 * lost; the standby is then promoted, and a new standby is created from it.
 */
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { type Postgres, startPostgres } from '../../src/sandbox/postgres.ts'
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.ts'
import { copyServer, QUICK, serversDirectory, startMigratedServer } from './postgres-copy.ts'
import { eventually } from './sandbox-eventually.ts'

export type ServerPair = {
  /** Leads to the current primary. */
  readonly url: string
  /** Creates a standby of the primary. Returns when it streams; a synchronous one delays every commit from then on. */
  readonly addStandby: (kind: 'synchronous' | 'asynchronous') => Promise<void>
  /** Resolves when the standby has everything committed before. */
  readonly caughtUp: () => Promise<void>
  /** From now on the standby receives nothing and lags. */
  readonly cutReplication: () => Promise<void>
  /**
   * Kills the primary with all its processes at once, as a power failure does, and promotes the standby.
   *
   * @param early whether the address leads to the standby before it is promoted, while it refuses writes
   */
  readonly failOver: (early: boolean) => Promise<void>
}

const STANDBY = 'standby'
/** What a starting standby still has to fetch must be available. */
const SETTINGS = { ...QUICK, wal_keep_size: '512MB' } as const

type Server = Postgres & { readonly directory: string }

/** With every migration applied; removed after the test. */
export async function withServerPair(t: Test): Promise<ServerPair> {
  const root = await serversDirectory(t)
  const first = join(root, 'server-0')
  let servers = 1
  let primary: Server = { ...(await startMigratedServer(first, SETTINGS)), directory: first }
  let standby: Server | null = null
  let port = primary.port
  const address = await startDatabaseProxy(() => port)
  let replication: DatabaseProxy | null = null
  t.after(async () => {
    await address.close()
    await primary.stop()
    await standby?.stop()
    await replication?.close()
  })
  return {
    url: withPort(primary.url, address.port),
    async addStandby(kind) {
      const directory = join(root, `server-${servers}`)
      servers += 1
      await copyServer(primary.url, primary.directory, directory, true)
      const source = primary.port
      replication = await startDatabaseProxy(() => source)
      const primary_conninfo = connectionInfo(withPort(primary.url, replication.port))
      const settings = { ...SETTINGS, primary_conninfo }
      standby = { ...(await startPostgres({ directory, settings })), directory }
      await withClient(primary.url, async (client) => {
        await stands(client, "state = 'streaming'")
        if (kind === 'asynchronous') return
        await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`)
        await client.query('SELECT pg_reload_conf()')
        await stands(client, "sync_state = 'sync'")
      })
    },
    caughtUp: () =>
      withClient(primary.url, async (client) => {
        const { rows } = await client.query<{ at: string }>('SELECT pg_current_wal_insert_lsn()::text AS at')
        await stands(client, `flush_lsn >= '${rows[0]?.at}'`)
      }),
    async cutReplication() {
      await replication?.close()
    },
    async failOver(early) {
      if (standby === null) throw new Error('there is no standby')
      const next = standby
      if (early) port = next.port
      await killWhole(primary)
      await withClient(next.url, (client) => client.query('SELECT pg_promote(true, 600)'))
      port = next.port
      primary = next
      standby = null
      await replication?.close()
    },
  }
}

/** Waits until the primary reports the state of its standby. */
function stands(client: pg.Client, condition: string): Promise<unknown> {
  const text = `SELECT FROM pg_stat_replication WHERE application_name = '${STANDBY}' AND ${condition}`
  return eventually(async () => (await client.query(text)).rowCount === 1)
}

/** Every process of the server; it cannot start another one meanwhile. */
async function killWhole({ url, pid, exited }: Server): Promise<void> {
  const client = await connect(url)
  process.kill(pid, 'SIGSTOP')
  const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_activity')
  for (const one of [pid, ...rows.map((row) => row.pid)]) kill(one)
  await exited
  await client.end().catch(() => undefined) // Its server has exited.
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It exited between the two checks.
  }
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connect(url)
  return use(client).finally(() => client.end())
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // The running statement fails with the same error.
  await client.connect()
  return client
}

function withPort(url: string, port: number): string {
  const copy = new URL(url)
  copy.port = String(port)
  return copy.href
}

function connectionInfo(url: string): string {
  const { hostname, port, username, password } = new URL(url)
  return `host=${hostname} port=${port} user=${username} password=${password} application_name=${STANDBY} sslmode=disable gssencmode=disable`
}
