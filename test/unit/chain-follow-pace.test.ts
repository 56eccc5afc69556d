/** How many blocks a follower reads at once from a slow node. */
import t from 'tap'
import type { BlockRef } from '../../src/chain/blocks.ts'
import { createPace, nextStep } from '../../src/chain/follow.ts'
import { type RpcReader, type RpcResult, unavailable } from '../../src/chain/json-rpc.ts'
import { createFakeChain } from '../support/fake-chain.ts'
import { oneNode } from '../support/one-node.ts'

t.test('fewer blocks are read at once from a slow node, and more when it is fast again', async (t) => {
  const chain = createFakeChain()
  chain.grow(400, 3)
  const asked: number[] = []
  let most = 8
  const silence: RpcResult = { ok: false, error: unavailable('timeout', 'no answer in time') }
  const client: RpcReader = {
    async batch(requests) {
      const blocks = requests.filter(({ params }) => params[1] === true).length
      if (blocks > 0) asked.push(blocks)
      return blocks > most ? requests.map(() => silence) : chain.client.batch(requests)
    },
  }
  const pace = createPace()
  let cursor: BlockRef = { number: 0, hash: chain.hash(0) }
  const until = async (number: number) => {
    while (cursor.number < number) {
      // Each failure ends a follower, and the next one starts with the same pace.
      const following = {
        how: { recover: null, blockReceipts: true },
        client: oneNode(client),
        storedHashes: () => new Map(),
        pace,
      }
      const step = await nextStep(following, cursor).catch(() => null)
      if (step?.type === 'advance') cursor = step.blocks.at(-1) ?? cursor
    }
  }
  await until(100)
  t.strictSame(asked.slice(0, 5), [100, 50, 25, 13, 7])
  most = 100
  await until(400)
  t.ok(asked.includes(56) && Math.max(...asked.slice(5)) > 56)
})
