/** The follower on real chains that reorganise, lose blocks, and restart. */
import assert from 'node:assert/strict'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type BlockRef, readHeaders } from '../../src/chain/blocks.ts'
import { parseTransferLog, TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import { createPace, type FollowStep, nextStep } from '../../src/chain/follow.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { createRpcClient, type RpcClient } from '../../src/chain/rpc-client.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { stateFiles } from '../../src/sandbox/chain-state.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { withAnvil } from '../support/anvil.ts'

/** The first of anvil's own accounts. */
const RICH = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const FRIEND = `0x${'22'.repeat(20)}`
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

function connect(t: Test, url: string): RpcClient {
  const client = createRpcClient({ urls: [url], chainId: 1000001, timeoutMs: 20_000, now: Date.now, log: SILENT })
  t.after(() => client.close())
  return client
}

async function mine(client: RpcClient, blocks: number): Promise<void> {
  for (let i = 0; i < blocks; i++) await client.call('evm_mine')
}

async function send(client: RpcClient, transaction: Record<string, string>): Promise<string> {
  return String(await client.call('eth_sendTransaction', [{ from: RICH, gas: '0x30d40', ...transaction }]))
}

/** Follows like the program, with the hashes of all followed blocks in memory. */
async function follow(client: RpcClient) {
  const kept = new Map<number, string>()
  const transactions = new Map<string, number>()
  const storedHashes = (from: number, to: number) =>
    new Map([...kept].filter(([number]) => number >= from && number <= to))
  const following = { how: { recover: null, blockReceipts: true }, client, storedHashes, pace: createPace() }
  const [genesis] = await readHeaders(client, [0])
  assert.ok(genesis)
  let cursor: BlockRef = genesis
  kept.set(0, genesis.hash)
  const catchUp = async (): Promise<FollowStep[]> => {
    const steps: FollowStep[] = []
    do {
      const step = await nextStep(following, cursor)
      steps.push(step)
      if (step.type === 'advance') {
        for (const block of step.blocks) {
          kept.set(block.number, block.hash)
          cursor = block
          for (const { hash } of block.transactions) transactions.set(hash, block.number)
        }
      }
      if (step.type === 'reorg') {
        cursor = step.to
        for (const number of kept.keys()) if (number > cursor.number) kept.delete(number)
        for (const [hash, number] of transactions) if (number > cursor.number) transactions.delete(hash)
        kept.set(cursor.number, cursor.hash)
      }
    } while (steps.at(-1)?.type === 'advance' || steps.at(-1)?.type === 'reorg')
    return steps
  }
  return { catchUp, transactions, cursor: () => cursor }
}

const kinds = (steps: readonly FollowStep[]): string => steps.map(({ type }) => type).join(' ')

t.test('transactions, receipts and logs of a real block are read as they are', async (t) => {
  const anvil = await withAnvil(t, { mining: 'call' })
  const client = connect(t, anvil.url)
  const sent = await send(client, { to: FRIEND, value: '0xde0b6b3a7640000' })
  const reverted = await send(client, { data: '0x60006000fd' })
  // Init code that emits Transfer(1, 2, 42) and deploys nothing.
  const emit = `0x602a600052600260017f${TRANSFER_TOPIC.slice(2)}60206000a300`
  const logged = await send(client, { data: emit })
  await mine(client, 1)
  const step = await nextStep(
    { how: { recover: null, blockReceipts: true }, client, storedHashes: () => new Map(), pace: createPace() },
    (await readHeaders(client, [0]))[0] ?? { number: 0, hash: '' },
  )
  assert.equal(step.type, 'advance')
  const [block] = step.blocks
  const found = (hash: string) => block?.transactions.find((transaction) => transaction.hash === hash)
  t.hasStrict(found(sent), {
    from: RICH,
    to: FRIEND,
    nonce: 0,
    value: 10n ** 18n,
    status: 'success',
    gasUsed: 21_000n,
  })
  t.strictSame(found(sent)?.logs, [])
  t.hasStrict(found(reverted), { to: null, nonce: 1, value: 0n, status: 'reverted' })
  const [log] = found(logged)?.logs ?? []
  assert.ok(log)
  t.strictSame(parseTransferLog(log), {
    from: `0x${'1'.padStart(40, '0')}`,
    to: `0x${'2'.padStart(40, '0')}`,
    value: 42n,
  })
  const receipt = (await client.call('eth_getTransactionReceipt', [sent])) as {
    effectiveGasPrice: string
    blockHash: string
  }
  t.equal(found(sent)?.effectiveGasPrice, BigInt(receipt.effectiveGasPrice))
  t.equal(block?.hash, receipt.blockHash)
  t.ok((block?.baseFeePerGas ?? 0n) > 0n)
})

t.test('a reorg with the same height undoes what was in the old branch', async (t) => {
  const client = connect(t, (await withAnvil(t, { mining: 'call' })).url)
  const follower = await follow(client)
  await mine(client, 20)
  const early = await send(client, { to: FRIEND, value: '0x1' })
  await mine(client, 1)
  await mine(client, 5)
  const late = await send(client, { to: FRIEND, value: '0x2' })
  await mine(client, 1)
  t.match(kinds(await follower.catchUp()), /^(advance )+idle$/)
  t.ok(follower.transactions.has(early) && follower.transactions.has(late))
  await client.call('anvil_reorg', [3, []])
  const steps = await follower.catchUp()
  t.equal(kinds(steps), 'reorg advance idle')
  t.hasStrict(steps[0], { depth: 3, beyondWindow: false })
  t.ok(follower.transactions.has(early))
  t.notOk(follower.transactions.has(late), 'the reorg removed the later transaction')
  t.equal(follower.cursor().hash, (await readHeaders(client, [follower.cursor().number]))[0]?.hash)
})

t.test('a shortened chain is waited for while its blocks are known, and followed on another branch', async (t) => {
  const client = connect(t, (await withAnvil(t, { mining: 'call' })).url)
  const follower = await follow(client)
  await mine(client, 10)
  const snapshot = await client.call('evm_snapshot')
  await mine(client, 5)
  await follower.catchUp()
  t.equal(follower.cursor().number, 15)
  await client.call('evm_revert', [snapshot])
  t.equal(kinds(await follower.catchUp()), 'behind')
  await client.call('evm_setNextBlockTimestamp', [toQuantity(Math.floor(Date.now() / 1_000) + 1_000)])
  await mine(client, 1)
  const steps = await follower.catchUp()
  t.hasStrict(steps[0], { type: 'reorg', depth: 5, to: { number: 10 }, beyondWindow: false })
  t.equal(follower.cursor().number, 11)
})

t.test('a chain that lost its last blocks, or all of them, in a crash is followed further', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-follow-'))
  const port = await freePort()
  const start = (extraArgs: string[] = []) =>
    startAnvil({ chainId: 1000001, port, directory, keepState: true, mining: 'call', extraArgs })
  let anvil = await start()
  t.after(async () => {
    await anvil.stop()
    await rm(directory, { recursive: true, force: true })
  })
  const client = connect(t, anvil.url)
  const follower = await follow(client)
  const restart = async (between: () => Promise<void>, extraArgs: string[] = []): Promise<void> => {
    await anvil.stop()
    await between()
    anvil = await start(extraArgs)
  }
  const [state, earlier] = [stateFiles(directory).last, join(directory, 'earlier.json')]
  await mine(client, 8)
  await restart(() => copyFile(state, earlier))
  await mine(client, 4)
  await follower.catchUp()
  t.equal(follower.cursor().number, 12)

  await restart(() => copyFile(earlier, state))
  t.equal(kinds(await follower.catchUp()), 'behind', 'the follower uses the URL again and waits for its head')
  await client.call('evm_setNextBlockTimestamp', [toQuantity(Math.floor(Date.now() / 1_000) + 1_000)])
  await mine(client, 1)
  const [lost] = await follower.catchUp()
  t.hasStrict(lost, { type: 'reorg', depth: 4, to: { number: 8 }, beyondWindow: false })

  // Created within the same second, its block 0 would be identical.
  await restart(() => rm(directory, { recursive: true }), ['--timestamp', '1700000000'])
  await mine(client, 2)
  t.match((await follower.catchUp())[0], { type: 'refused', reason: /another chain with the same id/ })
  t.equal(follower.cursor().number, 9, 'nothing is undone')
})

t.test('a block of thousands of transfers is read whole', async (t) => {
  const client = connect(t, (await withAnvil(t, { mining: 'call' })).url)
  const follower = await follow(client)
  const hashes = new Set<string>()
  for (let i = 0; i < 20; i++) {
    const requests = Array.from({ length: 100 }, (_, j) => ({
      method: 'eth_sendTransaction',
      params: [
        { from: RICH, to: FRIEND, value: toQuantity(100 * i + j + 1), gas: '0x5208', nonce: toQuantity(100 * i + j) },
      ],
    }))
    for (const result of await client.batch(requests)) if (result.ok) hashes.add(String(result.value))
  }
  t.equal(hashes.size, 2_000)
  await mine(client, 1)
  await follower.catchUp()
  t.strictSame(new Set(follower.transactions.keys()), hashes)
})
