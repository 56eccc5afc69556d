/** A prepared local chain: contracts at addresses that never change, and a funded faucet. */
import { readFileSync } from 'node:fs'
import { Interface, type InterfaceAbi } from 'ethers/abi'
import t from 'tap'
import { FACTORY_ADDRESS } from '../../src/nft/contracts/collection.ts'
import { fundFaucet, setUpChain } from '../../src/sandbox/chain-setup.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { GUARD_ADDRESS } from '../../src/swaps/contracts/guard.ts'
import { withAnvil } from '../support/anvil.ts'

const FAUCET = '0x00000000000000000000000000000000000000fa'

type Artefact = { readonly abi: InterfaceAbi; readonly deployedBytecode: string }

function artefact(name: string): Artefact {
  return JSON.parse(readFileSync(new URL(`../../src/contracts/artifacts/${name}.json`, import.meta.url), 'utf8'))
}

async function read(url: string, name: string, to: string, method: string, values: readonly unknown[] = []) {
  const contract = new Interface(artefact(name).abi)
  const data = contract.encodeFunctionData(method, values)
  return contract.decodeFunctionResult(method, (await callRpc(url, 'eth_call', [{ to, data }, 'latest'])) as string)
}

function blockOf(url: string): Promise<number> {
  return callRpc(url, 'eth_blockNumber').then(Number)
}

t.test('a lost chain gets its contracts again at the same addresses', async (t) => {
  const first = await withAnvil(t, { mining: 'call' })
  const setup = await setUpChain(first.url, 'ethereum')
  const { contracts, added } = setup
  const addresses = [...Object.values(contracts), ...Object.values(added)]
  t.equal(new Set(addresses).size, 15)
  t.equal(added.nftFactory, FACTORY_ADDRESS, 'the factory has its public address')
  t.equal(added.swapGuard, GUARD_ADDRESS, 'and so has the guard of swaps')
  await first.stop()
  const second = await withAnvil(t, { mining: 'call' })
  t.strictSame(await setUpChain(second.url, 'ethereum'), setup)
  for (const address of addresses) {
    t.not(await callRpc(second.url, 'eth_getCode', [address, 'latest']), '0x')
  }
})

t.test('a second run deploys nothing and keeps the state of the token', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const setup = await setUpChain(url, 'polygon')
  const { contracts } = setup
  await fundFaucet(url, contracts, FAUCET)
  const nonce = async () =>
    Number(await callRpc(url, 'eth_getTransactionCount', ['0x4e59b44847b379578588920cA78FbF26c0B4956C', 'latest']))
  const deployed = await nonce()
  t.strictSame(await setUpChain(url, 'polygon'), setup)
  t.equal(await nonce(), deployed)
  t.strictSame([...(await read(url, 'DemoToken', contracts.usdc, 'balanceOf', [FAUCET]))], [10n ** 15n])
})

t.test('the token and the feeds answer like those of public chains', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const { usdc, nativeFeed, usdcFeed } = (await setUpChain(url, 'binance')).contracts
  t.strictSame([...(await read(url, 'DemoToken', usdc, 'symbol'))], ['USDC'])
  t.strictSame([...(await read(url, 'DemoToken', usdc, 'decimals'))], [6n])
  t.strictSame([...(await read(url, 'DemoPriceFeed', nativeFeed, 'description'))], ['BNB / USD'])
  for (const [feed, price] of [
    [nativeFeed, 600n],
    [usdcFeed, 1n],
  ] as const) {
    t.strictSame([...(await read(url, 'DemoPriceFeed', feed, 'decimals'))], [8n])
    const [round, answer, startedAt, updatedAt, answeredIn] = await read(url, 'DemoPriceFeed', feed, 'latestRoundData')
    t.equal(answer, price * 10n ** 8n)
    t.equal(answeredIn, round)
    t.ok(startedAt > 0n && updatedAt >= startedAt)
  }
})

t.test('a price that the owner set stays over a restart and never goes stale', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const { nativeFeed } = (await setUpChain(url, 'ethereum')).contracts
  const [from] = (await callRpc(url, 'eth_accounts')) as string[]
  const data = new Interface(artefact('DemoPriceFeed').abi).encodeFunctionData('setAnswer', [5n])
  await callRpc(url, 'eth_sendTransaction', [{ from, to: nativeFeed, data }])
  const twoDays = 2 * 24 * 60 * 60
  await callRpc(url, 'evm_increaseTime', [twoDays])
  await setUpChain(url, 'ethereum')
  const latest = (await callRpc(url, 'eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
  const [round, answer, , updatedAt] = await read(url, 'DemoPriceFeed', nativeFeed, 'latestRoundData')
  t.equal(answer, 5n)
  t.ok(updatedAt >= BigInt(latest.timestamp), 'the newest answer is not older than the block')
  const [, , , first] = await read(url, 'DemoPriceFeed', nativeFeed, 'getRoundData', [round - 1n])
  t.ok(first + BigInt(twoDays) <= updatedAt, 'older answers keep their time')
})

t.test('one call reads many, reports optional failures, and reverts on others', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const { multicall3, usdc } = (await setUpChain(url, 'ethereum')).contracts
  const multicall = new Interface(artefact('Multicall3').abi)
  const token = new Interface(artefact('DemoToken').abi)
  const refused = token.encodeFunctionData('transfer', [FAUCET, 1n])
  const calls = (allowFailure: boolean) => [
    [multicall3, false, multicall.encodeFunctionData('getBlockNumber')],
    [usdc, allowFailure, refused],
    [usdc, false, token.encodeFunctionData('decimals')],
  ]
  const [results] = await read(url, 'Multicall3', multicall3, 'aggregate3', [calls(true)])
  t.strictSame(
    results.map((result: { success: boolean }) => result.success),
    [true, false, true],
  )
  t.equal(BigInt(results[0].returnData), BigInt(await blockOf(url)))
  t.equal(token.parseError(results[1].returnData)?.name, 'ERC20InsufficientBalance')
  t.equal(BigInt(results[2].returnData), 6n)
  await t.rejects(read(url, 'Multicall3', multicall3, 'aggregate3', [calls(false)]), { message: /revert/ })
})

t.test('the faucet is topped up by payments that a follower sees, and only when it runs low', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const { contracts } = await setUpChain(url, 'ethereum')
  await fundFaucet(url, contracts, FAUCET)
  t.equal(BigInt((await callRpc(url, 'eth_getBalance', [FAUCET, 'latest'])) as string), 10n ** 27n)
  const block = (await callRpc(url, 'eth_getBlockByNumber', ['latest', true])) as { transactions: { to: string }[] }
  t.ok(
    block.transactions.some(({ to }) => to === FAUCET),
    'a transaction paid the faucet',
  )
  const before = await blockOf(url)
  await fundFaucet(url, contracts, FAUCET)
  const counts = await Promise.all(
    Array.from({ length: (await blockOf(url)) - before }, (_, i) =>
      callRpc(url, 'eth_getBlockTransactionCountByNumber', [`0x${(before + 1 + i).toString(16)}`]),
    ),
  )
  t.ok(
    counts.every((count) => count === '0x0'),
    'a full faucet is not topped up',
  )
})
