/** Reads of contracts, and a node's error messages, on a real chain. */
import assert from 'node:assert/strict'
import type { Interface } from 'ethers/abi'
import { Wallet } from 'ethers/wallet'
import t, { type Test } from 'tap'
import { readPrices } from '../../src/balances/price-feeds.ts'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { createCodeLookup } from '../../src/chain/code.ts'
import { encodeTransfer } from '../../src/chain/erc20.ts'
import { createFeeOracle } from '../../src/chain/fee-oracle.ts'
import { readNativeBalances } from '../../src/chain/multicall.ts'
import { createRpcClient, type RpcClient } from '../../src/chain/rpc-client.ts'
import { classifyCallFailure } from '../../src/chain/rpc-errors.ts'
import { describeToken } from '../../src/chain/token-metadata.ts'
import { readTokens } from '../../src/chain/token-reads.ts'
import { withAnvil } from '../support/anvil.ts'
import { compileProbes, type ProbeName } from '../support/probe-contracts.ts'

const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const POOR = '0x1111111111111111111111111111111111111111'
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
const probes = compileProbes()

async function withClient(t: Test): Promise<RpcClient> {
  const { url } = await withAnvil(t, { mining: 'call' })
  const client = createRpcClient({ urls: [url], chainId: 1000001, timeoutMs: 20_000, now: Date.now, log: SILENT })
  t.after(() => client.close())
  return client
}

async function send(client: RpcClient, fields: Record<string, string>) {
  const hash = await client.call('eth_sendTransaction', [{ from: RICH, ...fields }])
  await client.call('evm_mine')
  return (await client.call('eth_getTransactionReceipt', [hash])) as { contractAddress: string; status: string }
}

async function deploy(client: RpcClient, name: ProbeName, args: readonly unknown[] = []): Promise<string> {
  const data = probes[name].bytecode + probes[name].abi.encodeDeploy(args).slice(2)
  const receipt = await send(client, { data, gas: '0x1e8480' })
  assert.equal(receipt.status, '0x1')
  return toChecksumAddress(receipt.contractAddress)
}

t.test('balances are read over several calls, at the block asked for', async (t) => {
  const client = await withClient(t)
  const [aggregator, token] = [await deploy(client, 'Aggregator'), await deploy(client, 'Token')]
  const before = Number(await client.call('eth_blockNumber'))
  await send(client, { to: token, data: encodeTransfer(POOR, 250n) })
  await send(client, { to: POOR, value: '0x7' })
  const latest = (await client.call('eth_getBlockByNumber', ['latest', false])) as { hash: string }
  for (const multicall3 of [aggregator, null, RICH]) {
    t.strictSame(
      await readNativeBalances(client, multicall3, [POOR, token], 'latest'),
      [7n, 0n],
      `balances are read through ${multicall3}`,
    )
    t.strictSame(await readNativeBalances(client, multicall3, [POOR], before), [0n])
    t.strictSame(await readNativeBalances(client, multicall3, [POOR], { blockHash: latest.hash }), [7n])
  }
  const few = [
    { owner: POOR, token },
    { owner: RICH, token },
    { owner: POOR, token: aggregator },
    { owner: POOR, token: POOR },
  ]
  const none = { failure: 'none' }
  const expected = [{ balance: 250n }, { balance: 999_750n }, none, none]
  t.strictSame(await readTokens(client, few, 'latest'), expected)
  t.strictSame(await readTokens(client, few, { blockHash: latest.hash }), expected)
  t.strictSame(await readTokens(client, few, before), [{ balance: 0n }, { balance: 1_000_000n }, none, none])
  const many = Array.from({ length: 1_234 }, (_, i) => few[i % few.length] ?? { owner: POOR, token })
  const read = await readTokens(client, many, 'latest')
  t.strictSame(
    read,
    many.map((_, i) => expected[i % few.length]),
  )
})

t.test('a token that burns all the gas takes no other balance with it', async (t) => {
  const client = await withClient(t)
  const [token, greedy] = [await deploy(client, 'Token'), await deploy(client, 'Greedy')]
  const reads = [...Array<string>(90).fill(greedy), ...Array<string>(20).fill(token)].map((contract) => {
    return { owner: RICH, token: contract }
  })
  t.strictSame(await readTokens(client, reads, 'latest'), [
    ...Array(90).fill({ failure: 'gas' }),
    ...Array(20).fill({ balance: 1_000_000n }),
  ])
})

t.test('the symbol and decimals of a token are read, and an address without a token is distinguished', async (t) => {
  const client = await withClient(t)
  t.strictSame(await describeToken(client, await deploy(client, 'Token')), {
    token: { symbol: 'PRB', name: 'Probe', decimals: 6 },
  })
  for (const contract of [await deploy(client, 'Aggregator'), POOR])
    t.match(await describeToken(client, contract), { flaw: /^its symbol\(\) does not return what ERC-20 requires/ })
})

t.test('prices come from the feeds, and an old or missing feed has none', async (t) => {
  const client = await withClient(t)
  const now = Math.floor(Date.now() / 1_000)
  const aggregator = await deploy(client, 'Aggregator')
  const addresses = [
    await deploy(client, 'Feed', [2_500_00000000n, now]),
    await deploy(client, 'Feed', [1_00000000n, now - 90_000]),
    await deploy(client, 'Feed', [-1n, now]),
    POOR,
  ]
  const feeds = addresses.map((address) => ({ symbol: 'X', address }))
  for (const multicall3 of [aggregator, null]) {
    const prices = await readPrices({ client, multicall3, feeds, maxAgeMs: 86_400_000, now: () => now * 1_000 })
    t.strictSame(prices, [{ answer: 2_500_00000000n, decimals: 8, updatedAt: now }, null, null, null])
  }
})

t.test('contracts and delegated accounts have code, other accounts have none', async (t) => {
  const client = await withClient(t)
  const token = await deploy(client, 'Token')
  const delegated = '0x2222222222222222222222222222222222222222'
  await client.call('anvil_setCode', [delegated, `0xef0100${token.slice(2)}`])
  const lookup = createCodeLookup({ client, now: Date.now })
  t.strictSame(await lookup.haveCode([token, POOR, delegated, RICH]), [true, false, true, false])
})

t.test('a simulation that reverts returns the reason, the panic or the custom error', async (t) => {
  const client = await withClient(t)
  const token = await deploy(client, 'Token')
  const reasonOf = async (method: string, data: string, errors?: Interface) => {
    const [result] = await client.batch([{ method, params: [{ from: POOR, to: token, data }] }])
    assert.ok(result && !result.ok)
    const failure = classifyCallFailure(result.error, errors && [errors])
    return failure.type === 'reverted' ? failure.reason : failure.type
  }
  for (const method of ['eth_call', 'eth_estimateGas']) {
    t.equal(await reasonOf(method, encodeTransfer(token, 1n)), 'not to the token itself')
    t.equal(
      await reasonOf(method, encodeTransfer(RICH, 5n)),
      `ERC20InsufficientBalance(sender: ${POOR}, balance: 0, needed: 5)`,
    )
    t.equal(await reasonOf(method, encodeTransfer(RICH, 666n), probes.Token.abi), 'Frozen(until: 9)')
    t.equal(
      await reasonOf(method, encodeTransfer(RICH, 666n)),
      `unknown error ${probes.Token.abi.getError('Frozen')?.selector}`,
    )
    const divide = probes.Token.abi.encodeFunctionData('divide', [0])
    t.equal(await reasonOf(method, divide), 'panic 18: division or modulo by zero')
  }
})

t.test('the answers of a node to a transaction are classified', async (t) => {
  const client = await withClient(t)
  // The public private key of RICH: it is anvil's own.
  const wallet = new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const base = { type: 2, chainId: 1000001, to: POOR, value: 1n, gasLimit: 21_000n }
  const fees = { maxFeePerGas: 4n * 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n }
  const outcome = async (fields: object) => {
    const raw = await wallet.signTransaction({ ...base, ...fees, ...fields })
    return (await client.sendRawTransactions([raw]))[0]?.outcome
  }
  t.equal(await outcome({ nonce: 0 }), 'accepted')
  t.equal(await outcome({ nonce: 0 }), 'accepted', 'a transaction that the node already has is accepted')
  t.equal(await outcome({ nonce: 0, value: 2n }), 'replacement_underpriced')
  t.equal(await outcome({ nonce: 1, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }), 'fee_too_low')
  t.equal(await outcome({ nonce: 1, value: 10n ** 30n }), 'insufficient_funds')
  t.equal(await outcome({ nonce: 1, gasLimit: 20_000n }), 'rejected')
  t.equal(await outcome({ nonce: 1, gasLimit: 10n ** 12n }), 'rejected')
  t.equal(await outcome({ nonce: 1, chainId: 56 }), 'rejected')
  t.equal((await client.sendRawTransactions(['0x02c0']))[0]?.outcome, 'rejected')
  await client.call('evm_mine')
  t.equal(await outcome({ nonce: 0 }), 'nonce_too_low', 'the node does not name the transaction that used the nonce')
  t.equal(await outcome({ nonce: 0, value: 2n }), 'nonce_too_low')
})

t.test('a transaction with quoted fees is mined on a real chain', async (t) => {
  const client = await withClient(t)
  const policy = { minTipWei: 10n ** 9n, maxTipWei: 20n * 10n ** 9n, maxFeePerGasWei: 500n * 10n ** 9n }
  const fees = createFeeOracle({ client, policy, now: Date.now, refreshMs: 0, maxStaleMs: 0 })
  const quote = await fees.quote()
  const block = (await client.call('eth_getBlockByNumber', ['latest', false])) as { baseFeePerGas: string }
  t.ok(
    quote.baseFeePerGas <= BigInt(block.baseFeePerGas) && quote.baseFeePerGas > 0n,
    'the quote has the next base fee of an empty chain',
  )
  const { maxFeePerGas, maxPriorityFeePerGas } = quote.low
  const receipt = await send(client, {
    to: POOR,
    maxFeePerGas: `0x${maxFeePerGas.toString(16)}`,
    maxPriorityFeePerGas: `0x${maxPriorityFeePerGas.toString(16)}`,
  })
  t.equal(receipt.status, '0x1')
})
