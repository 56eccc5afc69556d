/** A sandbox chain: mines on transactions and by the clock, finalizes quickly, and survives its process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { saveState, stateFiles } from '../../src/sandbox/chain-state.ts'
import { mineWhenNeeded, SETTLING_BLOCKS } from '../../src/sandbox/mining.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { commandLine } from '../../src/sandbox/processes.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** Between two blocks of a chain without transactions. */
const IDLE_INTERVAL_MS = 12_000
const RECIPIENT = '0x00000000000000000000000000000000000000aa'

async function send(url: string, wei: string): Promise<unknown> {
  const [from] = (await callRpc(url, 'eth_accounts')) as string[]
  return callRpc(url, 'eth_sendTransaction', [{ from, to: RECIPIENT, value: wei }])
}

/**
 * Returns the hash once the payment is mined: anvil responds before it has mined a block, even with one block per
 * transaction.
 */
async function pay(url: string, wei: string): Promise<unknown> {
  const hash = await send(url, wei)
  await eventually(() => callRpc(url, 'eth_getTransactionReceipt', [hash]))
  return hash
}

t.test('a transfer is mined at once, and final two blocks later', async (t) => {
  const anvil = await withAnvil(t, { chainId: 1000137 })
  t.equal(await callRpc(anvil.url, 'eth_chainId'), '0xf42c9')
  t.match(commandLine(anvil.pid), /bin\/anvil --host 127\.0\.0\.1/, 'the pid is that of anvil, not of a launcher')
  const hash = await pay(anvil.url, '0x5')
  const receipt = await eventually(() => callRpc(anvil.url, 'eth_getTransactionReceipt', [hash]))
  const mined = BigInt((receipt as { blockNumber: string }).blockNumber)
  const finalized = await eventually(async () => {
    const block = (await callRpc(anvil.url, 'eth_getBlockByNumber', ['finalized', false])) as { number: string }
    return BigInt(block.number) >= mined ? block : undefined
  })
  t.ok(finalized)
})

t.test('with mining by transaction a block comes with each transaction and at no other time', async (t) => {
  const anvil = await withAnvil(t, { mining: 'each' })
  await pay(anvil.url, '0x5')
  await pay(anvil.url, '0x5')
  t.equal(await callRpc(anvil.url, 'eth_blockNumber'), '0x2')
})

t.test('after a stop the chain restarts with its receipts and old balances', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anvil-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const options = { chainId: 1000001, port: await freePort(), directory, keepState: true, mining: 'each' } as const
  const first = await startAnvil(options)
  t.after(() => first.stop())
  const hash = await pay(first.url, '0x5')
  await pay(first.url, '0x6')
  await first.stop()
  const second = await startAnvil(options)
  t.after(() => second.stop())
  t.equal(second.url, first.url)
  t.equal(await callRpc(second.url, 'eth_getBalance', [RECIPIENT, 'latest']), '0xb')
  t.match(await callRpc(second.url, 'eth_getTransactionReceipt', [hash]), { status: '0x1', blockNumber: '0x1' })
  t.match(await callRpc(second.url, 'eth_getTransactionByHash', [hash]), { value: '0x5' })
})

t.test('a bounded chain forgets old states and transactions, keeps the newest, and restarts', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anvil-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const bounds = { keepState: true, statesKept: 10, blocksKept: 3 }
  const options = { chainId: 1000001, port: await freePort(), directory, mining: 'each', ...bounds } as const
  const first = await startAnvil(options)
  t.after(() => first.stop())
  const hashes: unknown[] = []
  for (let block = 1; block <= 40; block += 1) hashes.push(await pay(first.url, '0x1'))
  const balanceAt = (url: string, block: string) => callRpc(url, 'eth_getBalance', [RECIPIENT, block])
  await t.rejects(balanceAt(first.url, '0x5'), 'the state of an old block is gone')
  t.equal(await balanceAt(first.url, '0x20'), '0x20')
  const receipt = (url: string, hash: unknown) => callRpc(url, 'eth_getTransactionReceipt', [hash])
  t.equal(await receipt(first.url, hashes[4]), null, 'the receipt of an old block is gone')
  await saveState(first.url, stateFiles(directory))
  await first.stop()
  const second = await startAnvil(options)
  t.after(() => second.stop())
  t.match(await receipt(second.url, hashes.at(-2)), { status: '0x1' })
  t.equal(await balanceAt(second.url, 'latest'), '0x28')
  t.match(await callRpc(second.url, 'eth_getBlockByNumber', ['0x5', false]), { number: '0x5' }, 'blocks stay')
})

t.test('a truncated last state is ignored, and the chain continues from the state that was saved before', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anvil-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const options = { chainId: 1000001, port: await freePort(), directory, keepState: true, mining: 'each' } as const
  const files = stateFiles(directory)
  const broken = () => writeFile(files.last, '{"block":{"number":"0x')
  const run = async (work: (url: string) => Promise<unknown>) => {
    const anvil = await startAnvil(options)
    t.after(() => anvil.stop())
    const result = await work(anvil.url)
    await anvil.stop()
    return result
  }
  await broken()
  t.equal(await run((url) => callRpc(url, 'eth_blockNumber')), '0x0', 'without a saved state the chain restarts')
  await run(async (url) => {
    await pay(url, '0x5')
    await saveState(url, files)
    await pay(url, '0x6')
  })
  await broken()
  t.equal(await run((url) => callRpc(url, 'eth_getBalance', [RECIPIENT, 'latest'])), '0x5')
})

t.test('an anvil that an earlier run left behind is stopped, and the new one has its port', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anvil-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const options = { chainId: 1000001, port: await freePort(), directory }
  const first = await startAnvil(options)
  t.after(() => first.stop())
  const second = await startAnvil(options)
  t.after(() => second.stop())
  t.strictSame(await first.exited, { code: 0, signal: null })
  t.equal(await callRpc(second.url, 'eth_chainId'), '0xf4241')
})

t.test('a chain killed while saving restarts with every transaction that its account nonces count', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anvil-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const options = { chainId: 1000001, port: await freePort(), directory, keepState: true, mining: 'call' } as const
  const anvil = await startAnvil(options)
  let kept = 0
  const driver = mineWhenNeeded(anvil.url, async () => {
    const head = Number(await callRpc(anvil.url, 'eth_blockNumber'))
    await saveState(anvil.url, stateFiles(directory))
    kept = head
  })
  const sending = (async () => {
    for (;;) await send(anvil.url, '0x1')
  })().catch(() => undefined)
  await eventually(() => kept >= 3)
  process.kill(anvil.pid, 'SIGKILL')
  await Promise.all([anvil.exited, driver.stop(), sending])
  const again = await startAnvil(options)
  t.after(() => again.stop())
  const [from] = (await callRpc(again.url, 'eth_accounts')) as string[]
  const head = Number(await callRpc(again.url, 'eth_blockNumber'))
  let mined = 0
  for (let number = 0; number <= head; number += 1) {
    mined += Number(await callRpc(again.url, 'eth_getBlockTransactionCountByNumber', [`0x${number.toString(16)}`]))
  }
  t.ok(mined > 0, 'at least one transaction was kept')
  t.equal(Number(await callRpc(again.url, 'eth_getTransactionCount', [from, 'latest'])), mined)
})

t.test('a driven chain mines at once what is sent, settles it with blocks, then rests', async (t) => {
  const anvil = await withAnvil(t, { mining: 'call' })
  const driver = mineWhenNeeded(anvil.url)
  t.after(() => driver.stop())
  const since = performance.now()
  const hash = await pay(anvil.url, '0x5')
  const receipt = await eventually(() => callRpc(anvil.url, 'eth_getTransactionReceipt', [hash]))
  t.match(receipt, { status: '0x1' })
  const mined = Number((receipt as { blockNumber: string }).blockNumber)
  await eventually(async () => Number(await callRpc(anvil.url, 'eth_blockNumber')) >= mined + SETTLING_BLOCKS)
  const head = async () => Number(await callRpc(anvil.url, 'eth_blockNumber'))
  const settled = await head()
  await sleep(2500)
  // On a slow machine the interval of an idle chain may pass meanwhile.
  const idle = Math.floor((performance.now() - since) / IDLE_INTERVAL_MS)
  t.ok((await head()) - settled <= idle, 'an idle chain mines no block before its interval')
  await pay(anvil.url, '0x6')
  await eventually(async () => (await callRpc(anvil.url, 'eth_getBalance', [RECIPIENT, 'latest'])) === '0xb')
})

t.test('a block of another program is settled like one of the driver', async (t) => {
  const anvil = await withAnvil(t, { mining: 'call' })
  const driver = mineWhenNeeded(anvil.url)
  t.after(() => driver.stop())
  // The driver first settles what it finds, then the chain is idle.
  await eventually(async () => Number(await callRpc(anvil.url, 'eth_blockNumber')) >= SETTLING_BLOCKS)
  await callRpc(anvil.url, 'anvil_setAutomine', [true])
  await pay(anvil.url, '0x5')
  const mined = Number(await callRpc(anvil.url, 'eth_blockNumber'))
  await eventually(async () => Number(await callRpc(anvil.url, 'eth_blockNumber')) >= mined + SETTLING_BLOCKS)
  const timeOf = async (number: number) => {
    const block = await callRpc(anvil.url, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
    return Number((block as { timestamp: string }).timestamp)
  }
  const idleSeconds = (IDLE_INTERVAL_MS / 1_000) * SETTLING_BLOCKS
  t.ok(
    (await timeOf(mined + SETTLING_BLOCKS)) - (await timeOf(mined)) < idleSeconds,
    'blocks are mined faster than on an idle chain',
  )
})
