/** Balances as production maintains them: from touched blocks, after forks, and the reads that no block triggers. */

import { balanceAggregate } from '../../src/balances/aggregate.ts'
import { decisionsOfReadings } from '../../src/balances/decisions-of-readings.ts'
import type { ObservationCause } from '../../src/balances/events.ts'
import type { HolderReads } from '../../src/balances/holder-reads.ts'
import { observeBalances, unwindBalances } from '../../src/balances/observe-block.ts'
import { type Holding, newestBlock, readHoldings } from '../../src/balances/read-holdings.ts'
import type { Block } from '../../src/chain/blocks.ts'
import { nativeAsset } from '../../src/core/assets.ts'
import type { BlockObserver } from '../../src/follower/follow-chain.ts'
import { nodeOf } from './node.ts'
import { caller, createLogPort, type PortsOf } from './ports.ts'
import { CHAIN_ID, isExpected, type World } from './terms.ts'

export const ASSET = nativeAsset('ethereum', CHAIN_ID)
const CHAIN = { network: 'ethereum', environment: 'mainnet', chainId: CHAIN_ID } as const
const NOBODY = `0x${'00'.repeat(20)}`

const holdingOf = (address: string, orphaned: Holding['orphaned'] = null): Holding => ({
  walletId: address,
  tenantId: 'acme',
  address,
  asset: ASSET,
  orphaned,
})

function partsOf(world: World, ports: PortsOf) {
  const node = nodeOf(world, ports)
  const log = createLogPort(ports)
  const chain = { ...CHAIN, client: node, foreign: node, multicall3: null, tokens: [] }
  return {
    log,
    chain,
    load: async (ids: readonly string[]) =>
      new Map((await log.loadMany(balanceAggregate, ids)).map((loaded) => [loaded.id, loaded])),
    read: async (holdings: readonly Holding[], at: Parameters<typeof readHoldings>[2]) =>
      (await readHoldings(chain, holdings, at)).readings,
  }
}

/** The same results as the read models. */
function createHolderPort(world: World, ports: PortsOf): HolderReads<Holding> {
  const call = caller(ports)
  return {
    touched: (_chain, touched) =>
      call('touched', () =>
        world.lanes.filter((lane) => touched.some(({ address }) => address === lane)).map((lane) => holdingOf(lane)),
      ),
    suspect: (_chain, { lowest, highest }, hashes) =>
      call('suspect', () =>
        (world.mutant.keepsBalances ? [] : [...world.store.balanceRows.values()])
          .filter(({ block_number: at, block_hash: hash }) => at >= lowest && at <= highest && !hashes.includes(hash))
          .map((row) => holdingOf(row.wallet_id, { blockNumber: row.block_number, blockHash: row.block_hash })),
      ),
  }
}

/** What the follower does at each step. */
export function observeBalancesOf(world: World, ports: PortsOf): BlockObserver {
  const { load, chain, read } = partsOf(world, ports)
  const { mutant } = world
  const ctx: Parameters<typeof observeBalances>[0] = {
    reads: createHolderPort(world, ports),
    load,
    chainOf: () => chain,
    readForRecord: (_chain, holdings, at) => read(holdings, at),
  }
  return {
    observe: async (blocks) => ({
      decisions: await observeBalances(ctx, { chain: CHAIN, blocks: blocks.map(seenBy(mutant)), now: ports.now() }),
    }),
    unwind: async (ancestorNumber) =>
      mutant.keepsBalances ? [] : unwindBalances(ctx, { chain: CHAIN, ancestorNumber, now: ports.now() }),
  }
}

/** A block without the side that a mutant ignores. */
function seenBy({ missesDeposits, missesSpending }: World['mutant']): (block: Block) => Block {
  return (block) => ({
    ...block,
    transactions: block.transactions.map((transaction) => ({
      ...transaction,
      ...(missesDeposits ? { to: null } : {}),
      ...(missesSpending ? { from: NOBODY } : {}),
    })),
  })
}

/** Before clients ask for anything: looks at the wallets until each has a balance. @param think waits for the actor's turn */
export async function untilObserved(
  world: World,
  ports: PortsOf,
  isStopped: () => boolean,
  think: () => Promise<unknown>,
): Promise<void> {
  while (!isStopped() && world.store.balanceRows.size < world.lanes.length) {
    await think()
    await lookAtAll(world, ports, 'first_observation').catch((error: unknown) => {
      if (!isExpected(error)) throw error
    })
  }
}

/**
 * Reads every wallet: the first observation of new ones, and the reconciliation that a follower starts with.
 *
 * @param at a processed block, or the newest one
 */
export async function lookAtAll(
  world: World,
  ports: PortsOf,
  cause: ObservationCause,
  at?: { readonly number: number; readonly hash: string },
): Promise<void> {
  const { log, load, chain, read } = partsOf(world, ports)
  const block = at === undefined ? await newestBlock(chain) : { blockNumber: at.number, blockHash: at.hash }
  const readings = await read(
    world.lanes.map((lane) => holdingOf(lane)),
    block,
  )
  await log.commit(() => decisionsOfReadings(readings, { load, cause, now: ports.now(), actor: 'balance-reconciler' }))
}
