/**
 * The chain-follower of a second installation on the database of a first one, with a chain of its own that has the same id,
 * as two sandboxes have: it reports that in one line, and the first one goes on where it was.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const FOLLOWER = fileURLToPath(new URL('../../dist/bin/chain-follower.js', import.meta.url))
const directory = t.testdir()
const { pool, url } = await withDatabase(t)
const ours = await withAnvil(t, { mining: 'call' })
// It began an hour earlier, so with another block 0.
const theirs = await withAnvil(t, {
  mining: 'call',
  extraArgs: ['--timestamp', `${Math.floor(Date.now() / 1000) - 3600}`],
})
const mine = (chain: { readonly url: string }, blocks: number) =>
  callRpc(chain.url, 'anvil_mine', [`0x${blocks.toString(16)}`])
const headOf = async (chain: { readonly url: string }) =>
  (await callRpc(chain.url, 'eth_getBlockByNumber', ['latest', false])) as { number: string; hash: string }

type Line = Readonly<Record<string, unknown>>

/** A process of an installation, with the lines that it logs. */
function follower(name: string, chain: { readonly url: string }) {
  const child = spawn(process.execPath, [FOLLOWER], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: url,
      DATA_DIR: join(directory, name),
      ETHEREUM_RPC_URLS: chain.url,
      ETHEREUM_CHAIN_ID: '1000001',
      ETHEREUM_CONFIRMATIONS: '2',
      ETHEREUM_POLL_INTERVAL_MS: '50',
      LEASE_MS: '1500',
      LOG_LEVEL: 'info',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: Line[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Line))
  const logged = (pattern: RegExp) => eventually(() => lines.find((line) => pattern.test(JSON.stringify(line))))
  return { lines, logged, stop: () => stopped(child) }
}

async function stopped(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

const OTHER_CHAIN = /the nodes show another chain with the same id/
const cursor = async () =>
  (await pool.query<{ number: string; hash: string }>('SELECT number, hash FROM chain_cursors')).rows[0]
const followed = async () => (await pool.query('SELECT chain_id, number, hash FROM chain_blocks ORDER BY number')).rows
const stall = async () => (await pool.query<{ reason: string }>('SELECT reason FROM chain_stalls')).rows[0]?.reason

/** Until the cursor is the newest block of the chain of the first installation. */
async function caughtUp(): Promise<void> {
  const { hash } = await headOf(ours)
  await eventually(async () => (await cursor())?.hash === hash)
}

t.test('the follower of a second installation, while the first one leads, changes nothing', async (t) => {
  await mine(ours, 3)
  await mine(theirs, 9)
  const first = follower('first', ours)
  await caughtUp()
  const second = follower('second', theirs)
  await second.logged(/"started"/)
  await mine(ours, 2)
  await caughtUp()
  await first.stop()
  await second.logged(OTHER_CHAIN)
  await second.stop()
  t.notOk(
    first.lines.some((line) => OTHER_CHAIN.test(JSON.stringify(line))),
    'the first one sees its own chain only',
  )
})

t.test('alone it stops at the first block, reports it, and undoes and records nothing', async (t) => {
  const before = { cursor: await cursor(), blocks: await followed() }
  const events = (await pool.query('SELECT FROM events')).rowCount
  const second = follower('second', theirs)
  t.match(await second.logged(OTHER_CHAIN), { message: /the follower cannot move/, network: 'ethereum' })
  await eventually(async () => OTHER_CHAIN.test(String(await stall())))
  await mine(theirs, 2)
  await second.stop()
  t.strictSame({ cursor: await cursor(), blocks: await followed() }, before)
  t.equal((await pool.query('SELECT FROM events')).rowCount, events)
})

t.test('the first one goes on, and the report ends', async (t) => {
  const first = follower('first', ours)
  await mine(ours, 2)
  await caughtUp()
  await eventually(async () => (await stall()) === undefined)
  await first.stop()
  t.equal((await cursor())?.hash, (await headOf(ours)).hash)
})

t.end()
