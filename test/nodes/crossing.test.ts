/**
 * Amsterdam arrives on two chains of a running service. The node of one has announced it: transfers are sent before, across and
 * after it, and none fails. On the other nobody has: what was accepted and signed before it gets the gas that it needs since.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import type { Network } from '../../src/core/networks.ts'
import { OWNER } from '../../src/sandbox/deploy.ts'
import { AS_LONG_AS_MAY_BE, newAddress, sendTransfer, startSandbox, type Transaction } from '../support/e2e-sandbox.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const BURSAR = fileURLToPath(new URL('../../dist/bin/bursar.js', import.meta.url))
const NEW_ACCOUNT = 204_600
/** In a final block from the first one on. */
const OLD = OWNER
/** Transfers are sent until so many blocks after the fork. */
const BLOCKS_AFTER = 5

const sandbox = await startSandbox(t, { REPLACE_AFTER_MS: '10000' })
const { client, service } = sandbox
type Block = { readonly number: string; readonly timestamp: string; readonly blockAccessListHash?: string }

const forkOf = async (network: Network) => {
  const { body } = await client.get('/readyz')
  const checks = body.data?.checks as { name: string; state?: string }[]
  return checks.find(({ name }) => name === `fork:${network}`)?.state
}
const newest = async () => (await sandbox.rpc('ethereum', 'eth_getBlockByNumber', ['latest', false])) as Block
const networks = async (): Promise<{ network: string; fork: string; next_fork_at: string | null }[]> => {
  const env = { PATH: process.env.PATH, DATA_DIR: join(service.directory, 'data') }
  return JSON.parse((await promisify(execFile)(process.execPath, [BURSAR, 'networks', '--json'], { env })).stdout)
}
const gasFor = async (path: string, asset: string, to: string) => {
  const { body, text } = await client.post(`${path}/transfer/preview`, { to, amount: '0.001', asset })
  if (body.data?.gas_limit === undefined) throw new Error(text)
  return Number(body.data.gas_limit)
}

const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '50' })
const other = await sandbox.wallet(client, 'polygon', { POL: '5' })
const sent: string[] = []
const send = async (to: string) => {
  sent.push(await sendTransfer(client, wallet, { to, amount: '0.001', asset: 'ETH' }))
}

t.test(
  'before the fork its time is shown, and transfers to new accounts already have the gas that it asks for',
  async (t) => {
    t.equal(await forkOf('ethereum'), 'osaka')
    const shown = (await networks()).find(({ network }) => network === 'ethereum')
    t.match(shown, { fork: 'osaka', next_fork_at: /^20.*Z$/ })
    t.ok((await gasFor(wallet.path, 'ETH', newAddress())) >= NEW_ACCOUNT)
    t.equal(await gasFor(wallet.path, 'ETH', OLD), 21_000)
    t.equal(await gasFor(other.path, 'POL', newAddress()), 21_000, 'a chain without a fork ahead')
    await send(newAddress())
    await send(OLD)
  },
)

t.test('transfers that are sent across the fork are in blocks on both sides of it, and none fails', async (t) => {
  const first = await eventually(async () => {
    await send(newAddress())
    await send(OLD)
    const block = await newest()
    return block.blockAccessListHash === undefined ? null : Number(block.number)
  })
  await eventually(async () => {
    await send(newAddress())
    return Number((await newest()).number) >= first + BLOCKS_AFTER
  })
  const ended: Transaction[] = []
  for (const path of sent) ended.push(await client.settle(path))
  t.strictSame(
    ended.filter(({ status }) => status !== 'confirmed').map(({ failure }) => failure),
    [],
  )
  const blocks = ended.map(({ block_number }) => block_number ?? 0)
  t.ok(blocks.some((number) => number < first) && blocks.some((number) => number >= first))
  t.comment(`${sent.length} transfers; the fork came with block ${first}`)
})

t.test('after the fork it is shown and logged, and an old account still costs 21,000', async (t) => {
  await eventually(async () => {
    // A request makes the process look.
    await gasFor(wallet.path, 'ETH', newAddress())
    return (await forkOf('ethereum')) === 'amsterdam'
  })
  t.equal(await forkOf('polygon'), 'osaka')
  matchExactly(t, await networks(), [
    { network: 'ethereum', fork: 'amsterdam' },
    { network: 'polygon', fork: 'osaka' },
    { network: 'binance', fork: 'osaka' },
  ])
  const log = readFileSync(join(service.directory, 'data', 'logs', 'api.log'), 'utf8')
  const changes = log.split('\n').filter((line) => line.includes('the fork of a chain has changed'))
  t.equal(changes.length, 1)
  t.match(JSON.parse(changes[0] ?? '{}'), { network: 'ethereum', before: 'osaka', fork: 'amsterdam' })
  t.equal(await gasFor(wallet.path, 'ETH', OLD), 21_000)
  t.ok((await gasFor(wallet.path, 'ETH', newAddress())) >= NEW_ACCOUNT)
})

t.test(
  'after a fork that nobody announced, what was accepted and what was signed before it get the gas that they need',
  async (t) => {
    t.equal(await forkOf('binance'), 'osaka')
    const funded = await sandbox.wallet(client, 'binance', { BNB: '5' })
    const network = 'binance'
    const collection = { name: 'Late', symbol: 'LATE', standard: 'ERC721', network, wallet_id: funded.walletId }
    const created = await client.post('/v1/nft/collections/create', collection, AS_LONG_AS_MAY_BE)
    const transfer = (to: string) => sendTransfer(client, funded, { to, amount: '0.001', asset: 'BNB' })
    t.ok(service.kill('submitter', 'SIGSTOP'))
    const signed = [await transfer(newAddress()), await transfer(OLD), await transfer(newAddress())]
    for (const path of signed) await client.until(path, ({ state }) => state === 'signed')
    t.ok(service.kill('signer', 'SIGSTOP'))
    const accepted = await transfer(newAddress())
    const { collection_id } = created.body.data
    const mint = { collection_id, recipient: newAddress(), metadata: { name: 'One' }, minting_type: 'DIRECT' }
    const minted = await client.post('/v1/nft/mint', mint, { prefer: 'respond-async' })
    t.equal(minted.status, 202, minted.text)
    const head = async () => (await sandbox.rpc(network, 'eth_getBlockByNumber', ['latest', false])) as Block
    t.equal((await head()).blockAccessListHash, undefined, 'all of it was accepted before the fork')
    await eventually(async () => (await head()).blockAccessListHash !== undefined)
    for (const name of ['submitter', 'signer']) t.ok(service.kill(name, 'SIGCONT'))
    const mintPath = `${funded.path}/transactions/${minted.body.data.transaction_id}`
    const ended: Transaction[] = []
    for (const path of [...signed, accepted, mintPath]) ended.push(await client.settle(path))
    t.strictSame(
      ended.map(({ status, failure }) => [status, failure]),
      ended.map(() => ['confirmed', null]),
    )
    // The first and the third are signed once more. One behind them that waits for ten seconds gets a higher fee.
    const versions = ended.map(({ hashes }) => hashes.length)
    t.ok((versions[0] ?? 0) >= 2 && (versions[2] ?? 0) >= 2, `signed ${versions.join(', ')} times`)
  },
)
