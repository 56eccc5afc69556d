/** `npm start` without settings, as a user runs it: the built program, its files, its output, its end. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { PROCESS_LIST } from '../../src/core/processes.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { isAlive } from '../../src/sandbox/processes.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { runToItsEnd } from '../support/run-program.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { startService } from '../support/service.ts'

const START = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))
const NAMES = [
  'postgres',
  'anvil-ethereum',
  'anvil-polygon',
  'anvil-binance',
  ...PROCESS_LIST.flatMap(({ kind, numbered }) => (numbered ? [1, 2, 3].map((number) => `${kind}-${number}`) : [kind])),
]

// With its parties, but without a pool: pooled keys are tested with mpc wallets.
const service = await startService({ env: { PORT: '0', MPC_PARTIES: '3', MPC_POOL_SIZE: '0' } })
t.after(() => service.close())
const dataDir = join(service.directory, 'data')
const stateFile = join(dataDir, 'sandbox.json')
const printed = () => readFileSync(join(service.directory, 'sandbox.log'), 'utf8')

t.test('the state file is private and names addresses, key and every process', async (t) => {
  t.equal(statSync(stateFile).mode & 0o777, 0o600)
  const state = service.state()
  t.strictSame(state.processes.map(({ name }) => name).sort(), [...NAMES].sort())
  t.ok(state.processes.every(({ pid }) => isAlive(pid)))
  t.strictSame(
    Object.entries(state.networks)
      .map(([network, { chain_id }]) => [network, chain_id])
      .sort(),
    [
      ['binance', 1000056],
      ['ethereum', 1000001],
      ['polygon', 1000137],
    ],
  )
  for (const { rpc_url, chain_id } of Object.values(state.networks)) {
    t.equal(Number(await callRpc(rpc_url, 'eth_chainId')), chain_id)
  }
  const reply = await fetch(`${state.base_url}/v1/wallets`, { headers: { authorization: `Bearer ${state.api_key}` } })
  t.equal(reply.status, 200)
})

const OURS = NAMES.filter((name) => name !== 'postgres' && !name.startsWith('anvil'))

/** The database connection of a process: what an attacker has who took over that process. */
function connectionOf(name: string): pg.Client {
  const pid = service.state().processes.find((one) => one.name === name)?.pid
  const env = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  const [, connectionString] = /^DATABASE_URL=(.+)$/m.exec(env.join('\n')) ?? []
  return new pg.Client({ connectionString })
}

for (const name of OURS)
  t.test(`the database user of ${name} cannot write to the log, neither directly nor through a row`, async (t) => {
    const client = connectionOf(name)
    await client.connect()
    t.after(() => client.end())
    const refused = { code: '42501' }
    await t.rejects(
      client.query(
        `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
         VALUES ('transaction-tx_forged', 1, 'TransferRequested', 3, '{}', '{}', now(), '')`,
      ),
      refused,
    )
    await t.rejects(client.query('UPDATE wallets SET key_ref = NULL'), refused)
    await t.rejects(client.query("SELECT put_wallets('[]')"), refused)
    await t.rejects(client.query('CREATE TABLE loot ()'), refused)
    if (name !== 'signer') await t.rejects(client.query('SELECT * FROM sealed_keys'), refused)
    const { rows } = await client.query('SELECT rolsuper FROM pg_roles WHERE rolname = session_user')
    t.strictSame(rows, [{ rolsuper: false }])
  })

t.test('a process that must not own the tables does not start as their owner, and prints one line', async (t) => {
  const run = (program: string, settings: Readonly<Record<string, string>>) =>
    runToItsEnd(program, { DATABASE_URL: service.state().database_url, ...settings })
  const complaint = /^DATABASE_URL must not name the owner of the tables or a superuser, which bursar is: [^\n]+\n$/
  t.match(await run('submitter', { DATABASE_ROLES: 'required' }), { code: 1, complaint })
  const party = { MPC_PARTY: '1', MPC_PARTY_ADDRESSES: '1=127.0.0.1:1,2=127.0.0.1:2,3=127.0.0.1:3' }
  t.match(await run('mpc-party', { ...party, DATA_DIR: t.testdir() }), { code: 1, complaint })
})

t.test('the printed commands, pasted into a shell, end in a confirmed transfer and a confirmed swap', async (t) => {
  const lines = printed().split('\n')
  const watching = spawn('bash', ['-c', `exec ${lines.find((line) => line.includes('curl -sN'))?.trim()}`])
  t.teardown(() => watching.kill())
  const shown: string[] = []
  createInterface({ input: watching.stdout }).on('line', (line) => shown.push(line))
  const from = lines.findIndex((line) => line.includes('export URL='))
  const to = lines.findIndex((line) => line.startsWith('Ctrl-C'))
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', lines.slice(from, to).join('\n')])
  t.equal(stderr, '')
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.strictSame(
    answers.map(({ status }) => status),
    Array.from(answers, () => 'success'),
  )
  const [wallet, , transfer, , balance, quote, swap, , shared] = answers.map(({ data }) => data)
  t.match(shared, { type: 'mpc', mpc: { threshold: 2, parties: 3 } })
  matchExactly(t, quote, { quote_id: /^quo_/, from_amount: '0.1', route: [{}] })
  matchExactly(t, [transfer, swap], [{ status: 'pending' }, { status: 'pending' }])
  // Read four seconds after the request: on a slow machine the transfer is not mined by then.
  t.match(balance, { currency: 'ETH', balance: /^(9\.[34]9|10$)/ })
  const { base_url, api_key } = service.state()
  const read = async (path: string) => {
    const reply = await fetch(`${base_url}${path}`, { headers: { authorization: `Bearer ${api_key}` } })
    return ((await reply.json()) as { data: Record<string, string> }).data
  }
  for (const { transaction_id: id } of [transfer, swap])
    await eventually(async () => {
      const { status } = await read(`/v1/wallets/${wallet.wallet_id}/transactions/${id}`)
      return status === 'confirmed'
    })
  await eventually(async () => (await read(`/v1/wallets/${wallet.wallet_id}/balance`)).balance?.startsWith('9.39'))
  const ofTransfer = shown.filter((line) => line.startsWith('id: ') && line.includes(transfer.transaction_id))
  t.equal(ofTransfer.length, 5, 'the printed command shows the events: requested, signed, submitted, mined, confirmed')
})

t.test('a second sandbox in the same directory is refused in one line and does not affect the first', async (t) => {
  const { processes } = service.state()
  const second = spawn(process.execPath, [START], {
    env: { PATH: process.env.PATH, HOME: service.directory, DATA_DIR: dataDir, PORT: String(await freePort()) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [complaint, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')])
  t.equal(code, 1)
  t.match(complaint, /^A sandbox is already running in .+ \(process \d+\): .+\n$/)
  t.strictSame(service.state().processes, processes)
  t.ok(processes.every(({ pid }) => isAlive(pid)))
})

t.test('a killed process restarts at its old address, and the state file has its new pid', async (t) => {
  const before = service.state()
  for (const name of ['anvil-polygon', 'dispatcher', 'postgres']) {
    t.ok(service.kill(name))
    const pidOf = (state: typeof before) => state.processes.find((one) => one.name === name)?.pid
    await eventually(() => {
      const pid = pidOf(service.state())
      return pid !== undefined && pid !== pidOf(before) && isAlive(pid)
    })
  }
  const { networks, database_url, base_url } = service.state()
  t.strictSame({ networks, database_url }, { networks: before.networks, database_url: before.database_url })
  await eventually(async () => (await fetch(`${base_url}/readyz`)).status === 200)
})

t.test(
  'a kill -9 of the parent blocks nothing: the next start has the wallets, the key and the ports of the last',
  async (t) => {
    const before = service.state()
    await service.killParent()
    await service.start()
    const { base_url, api_key, networks, database_url } = service.state()
    const kept = { base_url, api_key, networks, database_url }
    t.match(before, kept)
    const reply = await fetch(`${base_url}/v1/wallets`, { headers: { authorization: `Bearer ${api_key}` } })
    const { data } = (await reply.json()) as { data: { wallets: { label: string }[] } }
    t.strictSame(data.wallets.map(({ label }) => label).sort(), ['first', 'shared'])
    t.notOk(
      before.processes.some(({ pid }) => isAlive(pid) && service.state().processes.every((one) => one.pid !== pid)),
    )
  },
)

t.test('a signal ends every process that the sandbox started', async (t) => {
  const { processes } = service.state()
  await service.stop()
  t.notOk(processes.some(({ pid }) => isAlive(pid)))
  t.notOk(existsSync(stateFile))
  t.strictSame(service.deaths(), [])
})
