/** Balances on a real chain and a real database: deposits, internal transfers, reorgs, and rebuilt rows. */
import type { Pool } from 'pg'
import t from 'tap'
import { createHolderReads } from '../../src/balances/holder-reads.ts'
import { loadBalances } from '../../src/balances/load-balances.ts'
import { observeBalances } from '../../src/balances/observe-block.ts'
import { readBlocks } from '../../src/chain/blocks.ts'
import { StreamConflict } from '../../src/event-log/append.ts'
import {
  addWallet,
  balanceOf,
  eventsOf,
  fresh,
  rowOf,
  sameWhenMadeAgain,
  untilBalance,
  untilWalked,
} from '../support/balances.ts'
import { withFollowedChain } from '../support/followed-chain.ts'
import { NATIVE, TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const BOB = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

t.test('a deposit is recorded automatically for every tenant with the address, archived or not', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(1), tenantId: 'acme' })
  await addWallet(chain, 'wal_b', { address: fresh(1), tenantId: 'globex', status: 'archived' })
  chain.follow()
  await chain.transfer(fresh(1), 7n)
  await untilBalance(chain, 'wal_a', '7')
  await untilBalance(chain, 'wal_b', '7')
  await chain.transfer(fresh(1), 5n)
  await untilBalance(chain, 'wal_a', '12')
  matchExactly(t, await eventsOf(chain, 'wal_a'), [
    {
      type: 'BalanceChanged',
      data: { asset: NATIVE, balance: '7', cause: 'block', blockNumber: 1 },
      metadata: { tenantId: 'acme' },
    },
    { type: 'BalanceChanged', data: { balance: '12', blockNumber: 2 } },
  ])
  await sameWhenMadeAgain(t, chain)
})

t.test('currency sent by an internal call is found by the reconciliation, at a followed block', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(2) })
  chain.follow()
  await chain.transfer(fresh(2), 1n)
  await untilBalance(chain, 'wal_a', '1')
  await chain.sendInternally(fresh(2), 41n)
  await untilWalked(chain)
  t.equal(await balanceOf(chain, 'wal_a'), '1', 'the reconciliation finds the balance without a log')
  t.strictSame(await chain.reconcile(TEST_CHAIN), { wallets: 1, corrected: 1 })
  t.equal(await balanceOf(chain, 'wal_a'), '42')
  t.match((await eventsOf(chain, 'wal_a')).at(-1), { data: { cause: 'reconciliation', blockNumber: 2 } })
  t.strictSame(await chain.reconcile(TEST_CHAIN), { wallets: 1, corrected: 0 }, 'an equal balance records nothing')
  await sameWhenMadeAgain(t, chain)
})

t.test('a new wallet is read once, whether the follower runs before, in between or after', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(3) })
  await chain.transfer(fresh(3), 9n)
  await chain.observeWallet('wal_a')
  t.equal(await balanceOf(chain, 'wal_a'), '9')
  await Promise.all([chain.observeWallet('wal_a'), chain.observeWallet('wal_a')])
  chain.follow()
  await untilWalked(chain)
  t.match(await eventsOf(chain, 'wal_a'), { length: 1, 0: { data: { cause: 'first_observation' } } })

  await addWallet(chain, 'wal_b', { address: fresh(4) })
  await Promise.all([chain.observeWallet('wal_b'), chain.transfer(fresh(4), 3n), chain.observeWallet('wal_b')])
  await untilBalance(chain, 'wal_b', '3')
  await addWallet(chain, 'wal_requested', { address: null })
  await chain.observeWallet('wal_requested')
  await chain.observeWallet('wal_nobody')
  t.equal(await balanceOf(chain, 'wal_requested'), undefined)
  await sameWhenMadeAgain(t, chain)
})

t.test('after a reorg the balance is that of the new branch', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(5) })
  await addWallet(chain, 'wal_b', { address: fresh(6) })
  chain.follow()
  await chain.transfer(fresh(5), 10n)
  await untilBalance(chain, 'wal_a', '10')
  const snapshot = await chain.rpc('evm_snapshot')
  await chain.transfer(fresh(5), 20n)
  await chain.transfer(fresh(6), 5n)
  await untilBalance(chain, 'wal_a', '30')
  await untilBalance(chain, 'wal_b', '5')
  const orphaned = await rowOf(chain, 'wal_b')

  await chain.rpc('evm_revert', [snapshot])
  await chain.transfer(fresh(5), 300n)
  await chain.rpc('anvil_mine', ['0x2'])
  await untilBalance(chain, 'wal_a', '310')
  await untilBalance(chain, 'wal_b', '0')
  const events = await eventsOf(chain, 'wal_b')
  t.match(events.at(-1), {
    type: 'BalanceReorged',
    data: {
      balance: '0',
      blockNumber: 1,
      orphanedBlockNumber: Number(orphaned?.block_number),
      orphanedBlockHash: orphaned?.block_hash,
    },
  })
  matchExactly(
    t,
    (await eventsOf(chain, 'wal_a')).map(({ type, data }) => [type, data.balance]),
    [
      ['BalanceChanged', '10'],
      ['BalanceChanged', '30'],
      ['BalanceReorged', '10'],
      ['BalanceChanged', '310'],
    ],
  )
  await sameWhenMadeAgain(t, chain)
})

t.test('a balance first read at an orphaned block is corrected when the follower reaches its height', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(7) })
  const following = chain.follow()
  await chain.transfer(ALICE, 1n)
  await untilWalked(chain)
  await following.stop()
  const snapshot = await chain.rpc('evm_snapshot')
  await chain.transfer(fresh(7), 50n)
  await chain.observeWallet('wal_a')
  t.equal(await balanceOf(chain, 'wal_a'), '50')
  await chain.rpc('evm_revert', [snapshot])
  await chain.transfer(BOB, 1n)
  chain.follow()
  await untilBalance(chain, 'wal_a', '0')
  t.match((await eventsOf(chain, 'wal_a')).at(-1), {
    type: 'BalanceReorged',
    data: { blockNumber: 2, orphanedBlockNumber: 2 },
  })
  await sameWhenMadeAgain(t, chain)
})

t.test('without the state of a block the newest state is read, and the blocks up to it add nothing', async (t) => {
  const chain = await withFollowedChain(t)
  await addWallet(chain, 'wal_a', { address: fresh(8) })
  for (const wei of [1n, 2n, 4n]) await chain.transfer(fresh(8), wei)
  await chain.rpc('anvil_mine', ['0x4b0'])
  const observe = async (number: number) => {
    const { blocks } = await readBlocks(chain.client.client, {
      from: number,
      to: number,
      blockReceipts: true,
      recover: null,
    })
    return observeBalances(
      { ...chain.balances, reads: createHolderReads(chain.pool) },
      { chain: chain.settings, blocks, now: chain.log.now() },
    )
  }
  await chain.log.append({ decisions: await observe(1) })
  t.match(await rowOf(chain, 'wal_a'), { balance: '7', block_number: '1203' })
  t.strictSame(await observe(2), [])
  t.strictSame(await observe(3), [])
})

t.test('an append by another writer while balances are loaded is a conflict, and is not overwritten', async (t) => {
  const chain = await withFollowedChain(t)
  const { pool, log, balances, settings, observeWallet, transfer } = chain
  await addWallet(chain, 'wal_a', { address: fresh(10) })
  await transfer(fresh(10), 5n)
  const { blocks } = await readBlocks(chain.client.client, { from: 1, to: 1, blockReceipts: true, recover: null })
  await transfer(fresh(10), 1n)
  let others = 0
  /** Between the two reads of a load, in either order. */
  const interrupted = async <T>(read: Promise<T>) => {
    const result = await read
    if (others++ === 0) await observeWallet('wal_a')
    return result
  }
  const ctx = {
    pool: { query: (statement: string) => interrupted(pool.query(statement)) } as unknown as Pool,
    log: { ...log, heads: (streamIds) => interrupted(log.heads(streamIds)) },
  } satisfies Parameters<typeof loadBalances>[0]
  const observing = {
    ...balances,
    reads: createHolderReads(pool),
    load: (walletIds: readonly string[]) => loadBalances(ctx, walletIds),
  }
  const observe = () => observeBalances(observing, { chain: settings, blocks, now: log.now() })
  await log.append({ decisions: await observe() }).catch((error) => t.type(error, StreamConflict))
  t.ok(others > 1)
  t.equal(await balanceOf(chain, 'wal_a'), '6', 'the writer with the newer block is kept')
  t.strictSame(await observe(), [], 'the older block changes nothing when it is decided again')
})
