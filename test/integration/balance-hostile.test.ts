/** Tokens that harm their readers, on a chain whose node does not limit calls. */
import { AbiCoder, Interface } from 'ethers/abi'
import t, { type Test } from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { createChainClients } from '../../src/chain/client-set.ts'
import { type RpcReader, rpcCall } from '../../src/chain/json-rpc.ts'
import { readTokens } from '../../src/chain/token-reads.ts'
import { tokenAsset } from '../../src/core/assets.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'

import {
  addWallet,
  balanceOf,
  eventsOf,
  fresh,
  sameWhenMadeAgain,
  untilBalance,
  untilWalked,
} from '../support/balances.ts'
import { RICH, withFollowedChain } from '../support/followed-chain.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { startRpcNode } from '../support/rpc-node.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const HOSTILE = contractIn(compileSolidity('HostileToken.sol'), 'HostileToken')
const ERC20 = new Interface([
  'function mint(address to, uint256 amount)',
  'function transfer(address to, uint256 amount)',
])
const MOODS = { honest: 0, loops: 1, bomb: 2, reverts: 3, forges: 4, floods: 5 } as const
type Mood = keyof typeof MOODS
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
const TEST_SETTINGS = {
  network: 'ethereum',
  environment: 'mainnet',
  chainId: 1,
  confirmations: 2,
  minTipWei: 1n,
  maxTipWei: 1_000_000_000_000n,
  maxFeePerGasWei: 1n,
  pollIntervalMs: 20,
  multicall3Address: null,
  priceFeeds: {},
  tokens: [],
} as const
/** Many times a block's gas, as on nodes without a cap on calls. */
const UNBOUNDED_GAS = 10n ** 12n
const WALLETS = 40
/** Consecutive addresses. */
const holder = (n: number) => toChecksumAddress(`0x${(BigInt(fresh(7)) + BigInt(n)).toString(16)}`)

async function withHostile(t: Test) {
  let usdcAddress = ''
  const chain = await withFollowedChain(
    t,
    async (url) => {
      const { multicall3, usdc } = (await setUpChain(url, 'ethereum')).contracts
      usdcAddress = usdc
      return { multicall3Address: multicall3, tokens: [{ symbol: 'USDC', address: usdc, decimals: 6 }] }
    },
    { gasLimit: UNBOUNDED_GAS },
  )
  const usdc = tokenAsset(TEST_CHAIN, usdcAddress, 'USDC', 6)
  const call = (to: string, data: string) => chain.send({ to, data, gas: '0x1c9c380' })
  return {
    chain,
    usdc,
    mintUsdc: (to: string, amount: bigint) => call(usdcAddress, ERC20.encodeFunctionData('mint', [to, amount])),
    /** Deploys one and registers it for a tenant, like the asset capability. */
    async hostile(tenantId: string, mood: Mood = 'honest') {
      const args = AbiCoder.defaultAbiCoder().encode(['uint8', 'uint8'], [MOODS[mood], 0]).slice(2)
      const { contractAddress } = await chain.send({ data: HOSTILE.bytecode + args, gas: '0x1c9c380' })
      const contract = toChecksumAddress(contractAddress ?? '')
      const asset = tokenAsset(TEST_CHAIN, contract, 'HST', 18)
      await chain.pool.query(
        `INSERT INTO assets VALUES ($1, $2, 'ethereum', 'mainnet', $3, $4, 'HST', 'Hostile', 18, now(), 1)`,
        [tenantId, asset.assetId, TEST_CHAIN, contract],
      )
      return {
        asset,
        mint: (first: string, count: number, amount: bigint) =>
          call(contract, HOSTILE.abi.encodeFunctionData('mint', [first, count, amount])),
        turn: (to: Mood, victim = RICH) => call(contract, HOSTILE.abi.encodeFunctionData('turn', [MOODS[to], victim])),
      }
    },
  }
}

type UnreadRow = { reason: string; quarantined: boolean; missed: string }

t.test('a harmful token delays no block, no other token and no other tenant', async (t) => {
  const { chain, usdc, hostile, mintUsdc } = await withHostile(t)
  const { pool, retryTokens } = chain
  for (let n = 0; n < WALLETS; n += 1) await addWallet(chain, `wal_m${n}`, { address: holder(n), tenantId: 'mallory' })
  await addWallet(chain, 'wal_a', { address: fresh(1), tenantId: 'acme' })
  chain.follow()
  const unread = async (contract: string | null) =>
    (
      await pool.query<UnreadRow>(
        'SELECT reason, quarantined_at IS NOT NULL AS quarantined, missed FROM unread_tokens WHERE contract = $1',
        [contract],
      )
    ).rows[0]
  const retry = async () => {
    await pool.query(`UPDATE unread_tokens SET retry_at = clock_timestamp() - interval '1 minute'`)
    return retryTokens(TEST_CHAIN)
  }
  const expected = {
    loops: ['gas', true],
    bomb: ['gas', true],
    floods: ['size', true],
    reverts: ['none', false],
  } as const
  let paid = 0n
  for (const [mood, [reason, quarantined]] of Object.entries(expected) as [
    keyof typeof expected,
    readonly [string, boolean],
  ][]) {
    await t.test(mood, async (t) => {
      const token = await hostile('mallory')
      const { contract } = token.asset
      await token.mint(holder(0), 1, 5n)
      await untilBalance(chain, 'wal_m0', '5', token.asset)
      await token.turn(mood)
      await token.mint(holder(0), WALLETS, 1n)
      paid += 7n
      await chain.transfer(fresh(1), 7n)
      await mintUsdc(fresh(1), 9n)
      await untilBalance(chain, 'wal_a', paid.toString())
      await untilBalance(chain, 'wal_a', ((paid / 7n) * 9n).toString(), usdc)
      await untilWalked(chain)
      t.equal(await balanceOf(chain, 'wal_m0', token.asset), '5', 'the last balance that could be read is kept')
      t.match(await unread(contract), { reason, quarantined })

      for (let tries = 0; tries < 2; tries += 1) t.strictSame(await retry(), { settled: [], failed: [contract] })
      t.match(
        await unread(contract),
        { reason, quarantined: true },
        'a failing contract is in quarantine after three failures',
      )
      const { missed } = (await unread(contract)) as UnreadRow
      await token.mint(holder(1), 1, 1n)
      await untilWalked(chain)
      t.equal((await unread(contract))?.missed, String(BigInt(missed) + 1n), 'the skipped token is counted as missed')
      t.strictSame(await retryTokens(TEST_CHAIN), { settled: [], failed: [] }, 'the next retry is not due yet')

      await token.turn('honest')
      await untilWalked(chain)
      t.strictSame(await retry(), { settled: [contract], failed: [] })
      t.equal(await unread(contract), undefined)
      t.equal(await balanceOf(chain, 'wal_m0', token.asset), '6')
      t.equal(await balanceOf(chain, 'wal_m1', token.asset), '2', 'a deposit made during the quarantine is counted')
      t.equal(await balanceOf(chain, `wal_m${WALLETS - 1}`, token.asset), '1')
      await sameWhenMadeAgain(t, chain)
    })
  }
})

t.test('a token cannot forge the balance of another one by moving it while it is read', async (t) => {
  const { chain, usdc, hostile, mintUsdc } = await withHostile(t)
  const forger = await hostile('mallory')
  for (const n of [0, 1]) await addWallet(chain, `wal_${n}`, { address: holder(n), tenantId: 'mallory' })
  await mintUsdc(forger.asset.contract ?? '', 1_000n)
  await forger.turn('forges', usdc.contract ?? '')
  chain.follow()
  await forger.mint(holder(0), 2, 1n)
  await mintUsdc(holder(1), 5n)
  await untilBalance(chain, 'wal_1', '5', usdc)
  for (const n of [0, 1]) await chain.observeWallet(`wal_${n}`)
  await chain.reconcile(TEST_CHAIN)
  t.equal(await balanceOf(chain, 'wal_1', usdc), '5')
  t.match(
    (await eventsOf(chain, 'wal_1')).filter(({ data }) => data.asset.assetId === usdc.assetId),
    { length: 1 },
    'a balance read after the forger in the same call is not recorded',
  )
})

t.test('reads of contracts that never answer open no circuit breaker', async (t) => {
  const node = await startRpcNode(t)
  const settings = { ...TEST_SETTINGS, rpcUrls: [node.url] }
  const chains = createChainClients({ chains: [settings], timeoutMs: 500, now: Date.now, log: SILENT })
  t.after(() => chains.close())
  const [chain] = chains.all
  if (chain === undefined) throw new Error('no chain is configured')
  // Repeated: on a slow machine a request may take longer than the timeout of this test.
  const answers = (client: RpcReader) => eventually(() => rpcCall(client, 'eth_gasPrice'))
  for (const client of [chain.foreign, chain.client]) await answers(client)
  node.fault = 'hang'
  for (let n = 0; n < 4; n += 1)
    t.strictSame(await readTokens(chain.foreign, [{ token: RICH, owner: RICH }], 'latest'), [{ failure: 'unread' }])
  matchExactly(t, chain.client.health(), [{ state: 'ready', failures: 0 }])
  node.fault = 'none'
  t.match(await rpcCall(chain.foreign, 'eth_gasPrice'), { method: 'eth_gasPrice' }, 'no pause for these reads either')
  for (const client of [chain.foreign, chain.client]) t.match(await answers(client), { method: 'eth_gasPrice' })
})

t.test('a large batch is sent in several bodies, each below the limit of providers', async (t) => {
  const node = await startRpcNode(t)
  const chains = createChainClients({
    chains: [{ ...TEST_SETTINGS, rpcUrls: [node.url] }],
    timeoutMs: 60_000,
    now: Date.now,
    log: SILENT,
  })
  t.after(() => chains.close())
  await chains.all[0]?.client.call('eth_gasPrice')
  const before = node.bodies
  const large = { method: 'eth_call', params: [{ data: `0x${'00'.repeat(100_000)}` }, 'latest'] }
  const results = await chains.all[0]?.client.batch(Array.from({ length: 10 }, () => large))
  t.ok(results?.every(({ ok }) => ok))
  t.equal(node.bodies - before, 5, 'each body has two of the ten requests')
})

t.test('the reconciliation reads a bounded number of tokens in a run, and comes to all of them in turns', async (t) => {
  const { chain, usdc, hostile } = await withHostile(t)
  for (let n = 0; n < 4; n += 1) await hostile('mallory')
  for (let n = 0; n < 200; n += 1)
    await addWallet(chain, `wal_${String(n).padStart(3, '0')}`, { address: fresh(1_000 + n), tenantId: 'mallory' })
  await addWallet(chain, 'wal_a', { address: fresh(1), tenantId: 'acme' })
  chain.follow()
  await chain.transfer(fresh(1), 1n)
  await untilWalked(chain)
  const rows = async () => {
    const { rows } = await chain.pool.query<{ tenant_id: string; n: number }>(
      `SELECT tenant_id, count(*)::integer AS n FROM balances WHERE asset_id LIKE '%erc20%' GROUP BY tenant_id ORDER BY tenant_id`,
    )
    return Object.fromEntries(rows.map(({ tenant_id, n }) => [tenant_id, n]))
  }
  for (const mallory of [300, 600, 900, 1_000]) {
    t.equal((await chain.reconcile(TEST_CHAIN)).wallets, 201)
    t.strictSame(await rows(), { acme: 1, mallory }, 'a run reads five tokens of 200 wallets')
  }
  t.equal(await balanceOf(chain, 'wal_a', usdc), '0')
})
