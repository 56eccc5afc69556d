/**
 * One of three nodes lies about balances, code, tokens, fees and prices, wherever it stands in the setting: what is recorded,
 * told and signed is what the other two say.
 */
import { Interface } from 'ethers/abi'
import t, { type Test } from 'tap'
import { refreshPrices } from '../../src/balances/prices.ts'
import { createChainClients } from '../../src/chain/client-set.ts'
import { describeToken } from '../../src/chain/token-metadata.ts'
import { tokenAsset } from '../../src/core/assets.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import { createExactTokens } from '../../src/swaps/contracts/exact-tokens.ts'
import { readGuardProblem } from '../../src/swaps/contracts/guard.ts'
import { type Alter, type AlteredNode, withAlteredNode, withLastWord } from '../support/altered-node.ts'
import { addWallet, balanceOf, eventsOf, fresh, untilBalance, untilWalked } from '../support/balances.ts'
import { RICH, withFollowedChain } from '../support/followed-chain.ts'
import { TEST_CHAIN } from '../support/log.ts'

const TOKEN = new Interface(['function mint(address to, uint256 amount)'])
const INVENTED_WEI = 1_000n * 10n ** 18n
const INVENTED_USDC = 5_000_000n * 10n ** 6n
const DECIMALS = '0x313ce567'
const LATEST_ROUND_DATA = '0xfeaf968c'
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

async function withThreeNodes(t: Test, { multicall }: { readonly multicall: boolean }) {
  let url = ''
  const nodes: AlteredNode[] = []
  for (let n = 0; n < 3; n += 1) nodes.push(await withAlteredNode(t, () => url))
  let address = ''
  const chain = await withFollowedChain(t, async (real) => {
    url = real
    const { multicall3, usdc, nativeFeed, usdcFeed } = (await setUpChain(real, 'ethereum')).contracts
    address = usdc
    return {
      rpcUrls: nodes.map((node) => node.url),
      multicall3Address: multicall ? multicall3 : null,
      priceFeeds: { ETH: nativeFeed, USDC: usdcFeed },
      tokens: [{ symbol: 'USDC', address: usdc, decimals: 6 }],
    }
  })
  const usdc = tokenAsset(TEST_CHAIN, address, 'USDC', 6)
  const mint = (to: string, amount: bigint) =>
    chain.send({ from: RICH, to: address, data: TOKEN.encodeFunctionData('mint', [to, amount]) })
  /** Runs the task once with each node as the liar. */
  async function withEachLiar(alter: Alter, task: (place: number) => Promise<void>): Promise<void> {
    for (const [place, node] of nodes.entries()) {
      node.alter = alter
      await task(place)
      node.alter = (_call, result) => result
    }
  }
  /** Clients that remember nothing. */
  function fresh() {
    const clients = createChainClients({ chains: [chain.settings], timeoutMs: 60_000, now: Date.now, log: SILENT })
    t.after(() => clients.close())
    const [client] = clients.all
    if (client === undefined) throw new Error('one chain is configured')
    return client
  }
  return { chain, usdc, mint, withEachLiar, fresh }
}

const inventBalances: Alter = ({ method, params }, result) => {
  if (method === 'eth_getBalance') return `0x${INVENTED_WEI.toString(16)}`
  if (method !== 'eth_call') return result
  const [call] = params as [{ readonly to?: string }]
  return withLastWord(result, call.to === undefined ? INVENTED_USDC : INVENTED_WEI)
}

for (const multicall of [false, true])
  t.test(`invented balances are not recorded, ${multicall ? 'with' : 'without'} Multicall3`, async (t) => {
    const { chain, usdc, mint, withEachLiar } = await withThreeNodes(t, { multicall })
    chain.follow()
    await withEachLiar(inventBalances, async (place) => {
      const [walletId, address] = [`wal_${place}`, fresh(10 + place)]
      await addWallet(chain, walletId, { address })
      await chain.observeWallet(walletId)
      t.strictSame(
        [await balanceOf(chain, walletId), await balanceOf(chain, walletId, usdc)],
        ['0', '0'],
        'first observation',
      )
      await chain.transfer(address, 7n)
      await mint(address, 5n)
      await untilBalance(chain, walletId, '7')
      await untilBalance(chain, walletId, '5', usdc)
      await untilWalked(chain)
      t.match(await chain.reconcile(TEST_CHAIN), { corrected: 0 })
      const told = (await eventsOf(chain, walletId)).map(({ data }) => (data as { readonly balance?: string }).balance)
      t.notOk(
        told.some((balance) => balance === INVENTED_WEI.toString() || balance === INVENTED_USDC.toString()),
        'no event has an invented balance',
      )
    })
  })

t.test('what a contract is, and what a token says of itself, is not what one node says', async (t) => {
  const { usdc, withEachLiar, fresh } = await withThreeNodes(t, { multicall: false })
  const contract = usdc.contract ?? ''
  const lie: Alter = ({ method, params }, result) => {
    if (method === 'eth_getCode') return result === '0x' ? '0x6001' : '0x'
    const [call] = params as [{ readonly data?: string }]
    return method === 'eth_call' && call.data === DECIMALS ? withLastWord(result, 0n) : result
  }
  await withEachLiar(lie, async () => {
    const { code, foreign } = fresh()
    t.strictSame(await code.haveCode([contract, RICH]), [true, false])
    t.match(await describeToken(foreign, contract), { token: { symbol: 'USDC', decimals: 6 } })
    t.equal(await createExactTokens(Date.now).isExact(foreign, { chainId: TEST_CHAIN, contract }), true)
    t.equal(await readGuardProblem(foreign, ['latest']), null)
  })
})

t.test('what is offered as a fee is what honest nodes say that others paid', async (t) => {
  const { chain, withEachLiar, fresh: clientOf } = await withThreeNodes(t, { multicall: false })
  await chain.transfer(fresh(1), 7n)
  const honest = await clientOf().fees.quote()
  const times = (factor: bigint, value: unknown): unknown =>
    Array.isArray(value)
      ? value.map((one) => times(factor, one))
      : typeof value === 'string'
        ? `0x${(BigInt(value) * factor).toString(16)}`
        : value
  for (const factor of [0n, 1_000n]) {
    const lie: Alter = ({ method, params }, result) => {
      if (method === 'eth_gasPrice') return times(factor, result)
      if (method === 'eth_getBlockByNumber' && params[1] === false) {
        const header = result as { readonly baseFeePerGas: string }
        return { ...header, baseFeePerGas: times(factor, header.baseFeePerGas) }
      }
      if (method !== 'eth_feeHistory') return result
      const { baseFeePerGas, reward, ...rest } = result as Readonly<Record<string, unknown>>
      return { ...rest, baseFeePerGas: times(factor, baseFeePerGas), reward: times(factor, reward) }
    }
    await withEachLiar(lie, async () => void t.strictSame(await clientOf().fees.quote(), honest))
  }
})

t.test('fees are known while nodes are at different heads, or one of them hides its history', async (t) => {
  const { chain, withEachLiar, fresh: clientOf } = await withThreeNodes(t, { multicall: false })
  await chain.transfer(fresh(1), 7n)
  const honest = await clientOf().fees.quote()
  const behind: Alter = ({ method, params }, result) => {
    if (method === 'eth_blockNumber') return `0x${(BigInt(result as string) - 1n).toString(16)}`
    return method === 'eth_feeHistory' || (method === 'eth_getBlockByNumber' && params[0] === 'latest') ? null : result
  }
  await withEachLiar(behind, async () => void t.strictSame(await clientOf().fees.quote(), honest))
})

for (const multicall of [false, true])
  t.test(`prices are those of a quorum, ${multicall ? 'with' : 'without'} Multicall3`, async (t) => {
    const { chain, withEachLiar, fresh } = await withThreeNodes(t, { multicall })
    const lie: Alter = ({ method, params }, result) => {
      const [call] = params as [{ readonly data?: string }]
      if (method !== 'eth_call' || typeof result !== 'string') return result
      // The second word of a round is the price.
      if (call.data === LATEST_ROUND_DATA) return result.slice(0, 66) + '7'.padStart(64, '0') + result.slice(130)
      return withLastWord(result, 1n)
    }
    await withEachLiar(lie, async () => {
      await refreshPrices({ pool: chain.pool, clock: Date.now }, fresh())
      const { rows } = await chain.pool.query('SELECT symbol, trim_scale(usd) AS usd FROM prices ORDER BY symbol')
      t.strictSame(rows, [
        { symbol: 'ETH', usd: '3000' },
        { symbol: 'USDC', usd: '1' },
      ])
    })
  })
