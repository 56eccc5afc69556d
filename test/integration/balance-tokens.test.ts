/** Tokens, prices and jobs on a real chain with a token, price feeds and Multicall3. */
import { Interface } from 'ethers/abi'
import { getAddress } from 'ethers/address'
import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { balanceWork, observeJob } from '../../src/balances/jobs.ts'
import { refreshPrices } from '../../src/balances/prices.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { tokenAsset } from '../../src/core/assets.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { toInstant } from '../../src/core/ids.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import { sendMined } from '../support/anvil.ts'
import {
  addWallet,
  balanceOf,
  eventsOf,
  fresh,
  sameWhenMadeAgain,
  untilBalance,
  untilWalked,
} from '../support/balances.ts'
import { type FollowedChain, RICH, withFollowedChain } from '../support/followed-chain.ts'
import { NATIVE, TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const TOKEN = new Interface([
  'function mint(address to, uint256 amount)',
  'function transfer(address to, uint256 amount)',
])

async function withTokens(t: Test, options: { readonly configured: boolean } = { configured: true }) {
  let address = ''
  const chain = await withFollowedChain(t, async (url) => {
    const { multicall3, usdc, nativeFeed, usdcFeed } = (await setUpChain(url, 'ethereum')).contracts
    address = usdc
    return {
      multicall3Address: multicall3,
      priceFeeds: { ETH: nativeFeed, USDC: usdcFeed },
      tokens: options.configured ? [{ symbol: 'USDC', address: usdc, decimals: 6 }] : [],
    }
  })
  const usdc = tokenAsset(TEST_CHAIN, address, 'USDC', 6)
  const call = (name: 'mint' | 'transfer', to: string, amount: bigint, from = RICH) =>
    chain.send({ from, to: address, data: TOKEN.encodeFunctionData(name, [to, amount]) })
  return { chain, usdc, mint: (to: string, amount: bigint) => call('mint', to, amount), call }
}

/** Like the asset capability. */
async function register(
  { pool }: FollowedChain,
  tenantId: string,
  { assetId, contract }: ReturnType<typeof tokenAsset>,
) {
  await pool.query(
    `INSERT INTO assets VALUES ($1, $2, 'ethereum', 'mainnet', $3, $4, 'USDC', 'USD Coin', 6, now(), 1)`,
    [tenantId, assetId, TEST_CHAIN, contract],
  )
}

t.test('deposits of a token show on both sides, read with the native currency at one block', async (t) => {
  const { chain, usdc, mint, call } = await withTokens(t)
  await addWallet(chain, 'wal_a', { address: fresh(1) })
  await addWallet(chain, 'wal_rich', { address: RICH, tenantId: 'globex' })
  chain.follow()
  await mint(RICH, 1_000_000n)
  await untilBalance(chain, 'wal_rich', '1000000', usdc)
  await call('transfer', fresh(1), 400_000n)
  await untilBalance(chain, 'wal_a', '400000', usdc)
  await untilBalance(chain, 'wal_rich', '600000', usdc)
  t.equal(await balanceOf(chain, 'wal_a'), undefined, 'without a native transfer no native balance is recorded')
  const paid = BigInt((await chain.rpc('eth_getBalance', [RICH, 'latest'])) as string)
  t.equal(await balanceOf(chain, 'wal_rich'), paid.toString(), 'the sender has paid gas')
  t.match((await eventsOf(chain, 'wal_a')).at(0), {
    data: { asset: usdc, balance: '400000', cause: 'block' },
    metadata: { tenantId: 'acme', actor: 'worker:chain-follower' },
  })

  await chain.observeWallet('wal_a')
  t.equal(await balanceOf(chain, 'wal_a'), '0', 'the first observation records the native balance')
  t.match(await eventsOf(chain, 'wal_a'), { length: 2, 1: { data: { asset: NATIVE, cause: 'first_observation' } } })
  await sameWhenMadeAgain(t, chain)
})

t.test(
  'a token that one tenant registered counts for its wallets, those it had before included, and for no other',
  async (t) => {
    const { chain, usdc, mint } = await withTokens(t, { configured: false })
    for (const [id, tenantId] of [
      ['wal_a', 'acme'],
      ['wal_b', 'globex'],
    ] as const) {
      await addWallet(chain, id, { address: fresh(2), tenantId })
      await chain.observeWallet(id)
    }
    chain.follow()
    await mint(fresh(2), 5n)
    await untilWalked(chain)
    t.equal(await balanceOf(chain, 'wal_a', usdc), undefined, 'no balance is recorded for an unregistered token')
    await register(chain, 'acme', usdc)
    await observeJob(chain.balances, {
      tenant_id: 'acme',
      chain_id: String(TEST_CHAIN),
      contract: usdc.contract ?? '',
    })
    t.equal(await balanceOf(chain, 'wal_a', usdc), '5')
    await mint(fresh(2), 6n)
    await untilBalance(chain, 'wal_a', '11', usdc)
    await chain.reconcile(TEST_CHAIN)
    t.equal(await balanceOf(chain, 'wal_b', usdc), undefined)
    await sameWhenMadeAgain(t, chain)
  },
)

t.test('wrapping and unwrapping the native currency shows, although it emits no Transfer', async (t) => {
  const wrapper = contractIn(compileSolidity('Wrapper.sol'), 'Wrapper')
  let address = ''
  const chain = await withFollowedChain(t, async (url) => {
    const { contractAddress } = await sendMined(url, { from: RICH, data: wrapper.bytecode })
    address = getAddress(contractAddress ?? '')
    return { tokens: [{ symbol: 'WETH', address, decimals: 18 }] }
  })
  const weth = tokenAsset(TEST_CHAIN, address, 'WETH', 18)
  await addWallet(chain, 'wal_rich', { address: RICH })
  chain.follow()
  const call = (name: string, args: readonly unknown[], value = 0n) =>
    chain.send({ from: RICH, to: address, data: wrapper.abi.encodeFunctionData(name, args), value: toQuantity(value) })
  await call('deposit', [], 5n)
  await untilBalance(chain, 'wal_rich', '5', weth)
  await call('withdraw', [2n])
  await untilBalance(chain, 'wal_rich', '3', weth)
  await sameWhenMadeAgain(t, chain)
})

t.test('a chain that is rolled back to its start has no earlier tokens: their balances are withdrawn', async (t) => {
  const { chain, usdc, mint } = await withTokens(t)
  await addWallet(chain, 'wal_a', { address: fresh(3) })
  chain.follow()
  await mint(fresh(3), 5n)
  await chain.transfer(fresh(3), 7n)
  await untilBalance(chain, 'wal_a', '5', usdc)
  await untilBalance(chain, 'wal_a', '7')
  await chain.rpc('anvil_rollback', [await chain.head()])
  await chain.rpc('evm_setTime', [Math.floor(Date.now() / 1_000) + 3_600])
  await chain.rpc('anvil_mine', ['0x40'])
  await untilBalance(chain, 'wal_a', '0', usdc)
  await untilBalance(chain, 'wal_a', '0')
  await chain.transfer(fresh(3), 9n)
  await untilBalance(chain, 'wal_a', '9')
  await sameWhenMadeAgain(t, chain)
})

t.test('the reconciliation reads every wallet, page by page, beside the follower', async (t) => {
  const { chain, usdc, mint } = await withTokens(t)
  const count = 260
  for (let n = 0; n < count; n += 1)
    await addWallet(chain, `wal_${String(n).padStart(3, '0')}`, { address: fresh(1_000 + n) })
  chain.follow()
  await chain.sendInternally(fresh(1_259), 3n)
  await untilWalked(chain)
  // Sequentially: the node gives concurrent ones the same nonce.
  const pay = async () => {
    await mint(fresh(1_000), 1n)
    await chain.transfer(fresh(1_100), 2n)
  }
  const [done] = await Promise.all([chain.reconcile(TEST_CHAIN), pay()])
  t.equal(done.wallets, count)
  await untilBalance(chain, 'wal_000', '1', usdc)
  await untilBalance(chain, 'wal_100', '2')
  t.equal(await balanceOf(chain, 'wal_259'), '3')
  const { rows } = await chain.pool.query('SELECT count(*)::integer AS rows FROM balances')
  t.strictSame(rows, [{ rows: 2 * count }])
  t.strictSame(await chain.reconcile(TEST_CHAIN), { wallets: count, corrected: 0 })
  await sameWhenMadeAgain(t, chain)
})

t.test('prices are those of the feeds; an old one is dropped, and a silent node drops none', async (t) => {
  const { chain } = await withTokens(t)
  const { pool, client } = chain
  const clock = { now: Date.now() }
  const refresh = (of: Parameters<typeof refreshPrices>[1]) => refreshPrices({ pool, clock: () => clock.now }, of)
  const prices = async () =>
    (await pool.query('SELECT symbol, trim_scale(usd) AS usd, updated_at FROM prices ORDER BY symbol')).rows
  await refresh(client)
  matchExactly(t, await prices(), [
    { symbol: 'ETH', usd: '3000' },
    { symbol: 'USDC', usd: '1' },
  ])
  const [{ updated_at: at }] = (await prices()) as [{ updated_at: Date }]
  const head = (await chain.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
  t.ok(at.getTime() <= Number(head.timestamp) * 1_000, `the price has the time of the feed: ${toInstant(at.getTime())}`)

  await t.rejects(refresh({ settings: client.settings, agreed: { batch: async () => [] } }), Unavailable)
  t.match(await prices(), { length: 2 })
  clock.now += 26 * 60 * 60 * 1_000
  await refresh(client)
  t.strictSame(await prices(), [])
})

t.test('a wallet whose first read was lost is found and queued again after a while', async (t) => {
  const { chain } = await withTokens(t)
  const [lost, seen, requested] = [`wal_${v7()}`, `wal_${v7()}`, `wal_${v7()}`]
  const old = `wal_${v7({ msecs: Date.now() - 3 * 24 * 60 * 60 * 1_000 })}`
  for (const id of [lost, seen, old]) await addWallet(chain, id, { address: fresh(9), tenantId: id })
  await addWallet(chain, requested, { address: null })
  await chain.observeWallet(seen)
  const soon = new Date(Date.now() + 1_000)
  t.strictSame(await balanceWork.findQuiet(chain.pool, soon, 10), [
    { queue: 'observe', id: lost, data: { wallet_id: lost } },
  ])
  t.strictSame(
    await balanceWork.findQuiet(chain.pool, new Date(Date.now() - 60_000), 10),
    [],
    'a recent wallet is left to its own job',
  )
  await observeJob(chain.balances, { wallet_id: lost })
  t.strictSame(await balanceWork.findQuiet(chain.pool, soon, 10), [])
  chain.follow()
  await eventually(async () => (await chain.reconcile(TEST_CHAIN)).wallets > 0)
  t.equal(await balanceOf(chain, old), '0', 'the reconciliation reads an older wallet')
})
