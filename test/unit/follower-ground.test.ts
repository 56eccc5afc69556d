/** Where the follower continues after a reorg deeper than its kept hashes. */
import t from 'tap'
import type { BlockRef } from '../../src/chain/blocks.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { findGround } from '../../src/follower/find-ground.ts'
import { createFakeChain } from '../support/fake-chain.ts'

const CHAIN = { network: 'ethereum', environment: 'mainnet' } as const

/** Follows 40 blocks, records some of them, then the chain leaves its branch above block 20. */
async function groundAfter(recorded: readonly number[], advanced: readonly number[], highest = 30): Promise<BlockRef> {
  const chain = createFakeChain()
  chain.grow(40)
  const ref = (number: number): BlockRef => ({ number, hash: chain.hash(number) })
  const blocks = recorded.map(ref).reverse()
  const events = advanced.map((number) => ({ type: 'FollowerAdvanced', data: { block: ref(number), advancedAt: '' } }))
  chain.cut(20)
  chain.grow(30)
  const log = { readStream: async () => events } as unknown as EventLog
  // Two per page, so that there are several.
  const recordedBlocks = async (upTo: number) => blocks.filter(({ number }) => number <= upTo).slice(0, 2)
  const ground = await findGround({ log, client: chain.client, chain: CHAIN, recordedBlocks }, ref(highest))
  t.equal(ground.hash, chain.hash(ground.number), 'the node returns the common block')
  return ground
}

t.test('the common block is the newest one that the log has and the node still returns', async (t) => {
  t.equal((await groundAfter([5, 12, 18, 22, 25, 28, 29], [])).number, 18, 'a block with transactions is chosen')
  t.equal((await groundAfter([5, 25], [10, 20])).number, 20, 'a block that the follower recorded is chosen')
  t.equal((await groundAfter([5, 12, 19], [10, 25])).number, 19, 'the newer of the two blocks is chosen')
})

t.test('where the node returns none of them, the common block is below the lowest of them', async (t) => {
  t.equal((await groundAfter([21, 22, 25, 27, 29], [])).number, 20)
})

t.test('where nothing is recorded, there is nothing to undo', async (t) => {
  t.equal((await groundAfter([], [])).number, 30)
})
