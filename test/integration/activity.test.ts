/** Transfers on a real chain and a real database: deposits, reorgs, address poisoning, and what is notified of. */
import { Interface } from 'ethers/abi'
import t, { type Test } from 'tap'
import { observedTransferAggregate } from '../../src/activity/aggregate.ts'
import { activity } from '../../src/activity/capability.ts'
import type { ObservedTransferEvent } from '../../src/activity/events.ts'
import { readActivity } from '../../src/activity/read-activity.ts'
import { compareRows } from '../../src/audit/verify/compare-rows.ts'
import { refreshPrices } from '../../src/balances/prices.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { tokenAsset } from '../../src/core/assets.ts'
import { NOTHING_SET_ASIDE } from '../../src/event-log/set-aside.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import { addWallet, fresh, untilBalance, untilWalked } from '../support/balances.ts'
import { deployToken } from '../support/demo-token.ts'
import { type FollowedChain, RICH, withFollowedChain } from '../support/followed-chain.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const TOKEN = new Interface([
  'function mint(address to, uint256 amount)',
  'function transfer(address to, uint256 amount)',
])
const MULTICALL = new Interface(['function aggregate3((address target, bool allowFailure, bytes callData)[] calls)'])
const ETHER = 10n ** 18n

async function withTokens(t: Test) {
  let [usdc, stranger, multicall] = ['', '', '']
  const chain = await withFollowedChain(t, async (url) => {
    const { contracts } = await setUpChain(url, 'ethereum')
    usdc = contracts.usdc
    multicall = contracts.multicall3
    stranger = await deployToken(url, { name: 'USD Coin', symbol: 'USDC', decimals: 6 })
    const { nativeFeed, usdcFeed } = contracts
    return {
      multicall3Address: contracts.multicall3,
      priceFeeds: { ETH: nativeFeed, USDC: usdcFeed },
      tokens: [{ symbol: 'USDC', address: usdc, decimals: 6 }],
    }
  })
  const call = (contract: string, name: 'mint' | 'transfer', to: string, amount: bigint) =>
    chain.send({ to: contract, data: TOKEN.encodeFunctionData(name, [to, amount]) })
  /** Deposits of these amounts, in one transaction. */
  async function depositAll(to: string, amounts: readonly bigint[]): Promise<unknown> {
    await call(
      usdc,
      'mint',
      multicall,
      amounts.reduce((sum, amount) => sum + amount, 0n),
    )
    const calls = amounts.map((amount) => [usdc, false, TOKEN.encodeFunctionData('transfer', [to, amount])])
    return chain.send({ to: multicall, data: MULTICALL.encodeFunctionData('aggregate3', [calls]) })
  }
  return { chain, usdc, stranger, call, depositAll }
}

/** Every event of the transfers of a wallet, in order of its transfers. */
async function eventsOf({ pool, log }: FollowedChain, walletId: string) {
  const { rows } = await pool.query<{ transfer_id: string }>(
    'SELECT transfer_id FROM observed_transfers WHERE wallet_id = $1 ORDER BY place',
    [walletId],
  )
  return Promise.all(
    rows.map(({ transfer_id: id }) => log.readStream<ObservedTransferEvent>(observedTransferAggregate, id)),
  )
}

function untilStatus({ pool }: FollowedChain, walletId: string, status: string): Promise<true> {
  return eventually(async () => {
    const { rows } = await pool.query('SELECT FROM observed_transfers WHERE wallet_id = $1 AND status = $2', [
      walletId,
      status,
    ])
    return rows.length > 0
  })
}

const listOf = (
  { pool }: FollowedChain,
  walletId: string,
  page: { before?: string | undefined; limit: number } = { limit: 50 },
) =>
  readActivity(pool, { tenantId: 'acme', walletId, direction: undefined, asset: undefined, before: undefined, ...page })

/** Each row is what its stream says. */
async function sameAsLog(t: Test, { pool }: FollowedChain): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    const { rows, differences } = await compareRows(client as never, activity.verified ?? [], {
      aggregates: ALL_AGGREGATES,
      setAside: NOTHING_SET_ASIDE,
    })
    await client.query('COMMIT')
    t.ok(rows > 0)
    t.strictSame(differences, [])
  } finally {
    client.release()
  }
}

t.test('a deposit is detected in its block, and confirmed when the block is deep enough', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(1), type: 'hd' })
  await addWallet(chain, 'wal_b', { address: fresh(1), tenantId: 'globex', status: 'archived', type: 'hd' })
  chain.follow()
  await chain.transfer(fresh(1), 7n)
  await untilStatus(chain, 'wal_a', 'detected')
  t.strictSame(
    (await eventsOf(chain, 'wal_a')).flat().map(({ type }) => type),
    ['TransferObserved'],
  )
  await chain.rpc('anvil_mine', ['0x1'])
  await untilStatus(chain, 'wal_a', 'confirmed')
  await untilStatus(chain, 'wal_b', 'confirmed')
  matchExactly(t, await eventsOf(chain, 'wal_a'), [
    [
      {
        type: 'TransferObserved',
        data: {
          direction: 'in',
          counterparty: RICH,
          amount: '7',
          blockNumber: 1,
          valuation: null,
          notices: ['deposit'],
          transactionId: null,
        },
        metadata: { tenantId: 'acme' },
      },
      { type: 'TransferConfirmed', data: { blockNumber: 1, confirmations: 2 } },
    ],
  ])
  matchExactly(t, await listOf(chain, 'wal_a'), [
    { status: 'confirmed', direction: 'in', amount: '7', block_number: '1' },
  ])
  await sameAsLog(t, chain)
})

t.test('a deposit that a reorg drops is orphaned, and detected again in the block that includes it', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(2), type: 'hd' })
  chain.follow()
  const [snapshot, nonce] = [
    await chain.rpc('evm_snapshot'),
    await chain.rpc('eth_getTransactionCount', [RICH, 'latest']),
  ]
  // The same bytes on both branches: the nonce and the fees are fixed.
  const fees = { maxFeePerGas: toQuantity(100n * 10n ** 9n), maxPriorityFeePerGas: '0x1', gas: '0x5208' }
  const deposit = () => chain.send({ to: fresh(2), value: '0x9', nonce: String(nonce), ...fees })
  await deposit()
  await chain.rpc('anvil_mine', ['0x1'])
  await untilStatus(chain, 'wal_a', 'confirmed')
  await chain.rpc('evm_revert', [snapshot])
  await chain.rpc('anvil_mine', ['0x3'])
  await untilStatus(chain, 'wal_a', 'orphaned')
  t.strictSame(await listOf(chain, 'wal_a'), [], 'what left the chain is not listed')
  await deposit()
  await chain.rpc('anvil_mine', ['0x2'])
  await untilStatus(chain, 'wal_a', 'confirmed')
  const [events, ...others] = await eventsOf(chain, 'wal_a')
  t.strictSame(others, [], 'it is one transfer')
  matchExactly(t, events, [
    { type: 'TransferObserved', data: { blockNumber: 1 } },
    { type: 'TransferConfirmed', data: { blockNumber: 1 } },
    { type: 'TransferOrphaned', data: { blockNumber: 1, wasConfirmed: true } },
    { type: 'TransferObserved', data: { blockNumber: 4 } },
    { type: 'TransferConfirmed', data: { blockNumber: 4 } },
  ])
  await sameAsLog(t, chain)
})

t.test('transfers of zero and of unknown tokens are left out, although the balances are looked at', async (t) => {
  const { chain, usdc, stranger, call } = await withTokens(t)
  await addWallet(chain, 'wal_a', { address: fresh(3), type: 'hd' })
  chain.follow()
  await call(usdc, 'mint', RICH, 5n)
  await call(stranger, 'mint', RICH, 5n)
  await call(usdc, 'transfer', fresh(3), 0n)
  await call(stranger, 'transfer', fresh(3), 5n)
  await chain.transfer(fresh(3), 0n)
  await untilWalked(chain)
  t.strictSame(await eventsOf(chain, 'wal_a'), [])
  await call(usdc, 'transfer', fresh(3), 4n)
  await untilBalance(chain, 'wal_a', '4', tokenAsset(TEST_CHAIN, usdc, 'USDC', 6))
  matchExactly(t, await listOf(chain, 'wal_a'), [
    { asset_symbol: 'USDC', amount: '4', log_index: 0, counterparty: RICH },
  ])
})

t.test(
  'transfers of one transaction are in the order of its logs: detected, listed over pages, confirmed, orphaned',
  async (t) => {
    const { chain, depositAll } = await withTokens(t)
    await addWallet(chain, 'wal_a', { address: fresh(9), type: 'hd' })
    const amounts = Array.from({ length: 23 }, (_, n) => BigInt(n + 1))
    const snapshot = await chain.rpc('evm_snapshot')
    chain.follow()
    await depositAll(fresh(9), amounts)
    await chain.rpc('anvil_mine', ['0x1'])
    await untilStatus(chain, 'wal_a', 'confirmed')

    const listed: string[] = []
    for (let before: string | undefined, left = 8; left > 0; left -= 1) {
      const page = await listOf(chain, 'wal_a', { before, limit: 3 })
      listed.push(...page.map(({ amount }) => amount))
      before = page.at(-1)?.place
    }
    t.strictSame(listed, amounts.map(String).reverse(), 'newest first')

    await chain.rpc('evm_revert', [snapshot])
    await chain.rpc('anvil_mine', ['0x3'])
    await untilStatus(chain, 'wal_a', 'orphaned')
    const { rows } = await chain.pool.query<{ type: string; amounts: string[] }>(
      `SELECT e.type, array_agg(o.amount::text ORDER BY e.transaction_id, e.position) AS amounts
       FROM events AS e JOIN observed_transfers AS o ON e.stream_id = 'observed-' || o.transfer_id GROUP BY e.type`,
    )
    for (const type of ['TransferObserved', 'TransferConfirmed', 'TransferOrphaned'])
      t.strictSame(rows.find((row) => row.type === type)?.amounts, amounts.map(String), type)
  },
)

t.test('a watch wallet notifies as its settings said at that time, with the value at that time', async (t) => {
  const { chain, usdc, call } = await withTokens(t)
  const settings = { incomingTransactions: true, largeTransfers: true, largeTransferThresholdUsd: '5000' }
  await addWallet(chain, 'wal_a', { address: fresh(4), notifications: settings })
  await addWallet(chain, 'wal_quiet', {
    address: fresh(4),
    tenantId: 'globex',
    notifications: { ...settings, incomingTransactions: false, largeTransfers: false },
  })
  await call(usdc, 'mint', RICH, 9_000_000_000n)
  chain.follow()
  await chain.transfer(fresh(4), 2n * ETHER)
  await untilWalked(chain)
  await refreshPrices({ pool: chain.pool, clock: Date.now }, chain.client)
  await chain.transfer(fresh(4), ETHER)
  await chain.transfer(fresh(4), 2n * ETHER)
  await call(usdc, 'transfer', fresh(4), 4_000_000_000n)
  await call(usdc, 'transfer', fresh(4), 5_000_000_000n)
  await chain.rpc('anvil_impersonateAccount', [fresh(4)])
  await chain.send({ from: fresh(4), to: RICH, value: toQuantity(2n * ETHER) })
  await untilWalked(chain)
  const found = (await eventsOf(chain, 'wal_a')).flat().flatMap((event) => {
    if (event.type !== 'TransferObserved') return []
    const { direction, asset, valuation, notices } = event.data
    return [[direction, asset.symbol, valuation?.usd ?? null, ...notices]]
  })
  t.strictSame(found, [
    ['in', 'ETH', null, 'incoming'],
    ['in', 'ETH', '3000.00', 'incoming'],
    ['in', 'ETH', '6000.00', 'incoming', 'large_transfer'],
    ['in', 'USDC', '4000.00', 'incoming'],
    ['in', 'USDC', '5000.00', 'incoming', 'large_transfer'],
    ['out', 'ETH', '6000.00', 'large_transfer'],
  ])
  const quiet = (await eventsOf(chain, 'wal_quiet')).flat()
  t.equal(quiet.filter(({ type }) => type === 'TransferObserved').length, 6, 'it lists them')
  t.strictSame(
    quiet.flatMap((event) => (event.type === 'TransferObserved' ? event.data.notices : [])),
    [],
  )
})

t.test('a block that is processed again records nothing twice', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(5), type: 'hd' })
  const first = chain.follow()
  await chain.transfer(fresh(5), 7n)
  await untilStatus(chain, 'wal_a', 'detected')
  await first.stop()
  // As if the cursor had been restored to an earlier block than the log.
  await chain.pool.query('UPDATE chain_cursors SET number = 0, hash = (SELECT hash FROM chain_blocks WHERE number = 0)')
  chain.follow()
  await untilWalked(chain)
  matchExactly(t, await eventsOf(chain, 'wal_a'), [{ length: 1 }])
  await chain.rpc('anvil_mine', ['0x1'])
  await untilStatus(chain, 'wal_a', 'confirmed')
  matchExactly(t, await eventsOf(chain, 'wal_a'), [{ length: 2 }])
})
