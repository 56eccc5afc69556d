/** Nodes whose blocks do not lead from the last followed block to their head. */
import t from 'tap'
import { createPace, nextStep } from '../../src/chain/follow.ts'
import type { RpcRequest } from '../../src/chain/json-rpc.ts'
import { createFakeChain } from '../support/fake-chain.ts'
import { oneNode } from '../support/one-node.ts'

t.test('blocks that do not lead from the cursor to the head are told apart from a head without news', async (t) => {
  const chain = createFakeChain()
  chain.grow(10)
  const cursor = { number: 10, hash: chain.hash(10) }
  const following = {
    how: { recover: null, blockReceipts: true },
    client: oneNode(chain.client),
    storedHashes: () => new Map([[10, chain.hash(10)]]),
    pace: createPace(),
  }
  t.match(await nextStep(following, cursor), { type: 'idle' })
  chain.grow(2)
  const answerTo = (number: number, block: unknown) => (request: RpcRequest) => {
    if (!request.method.startsWith('eth_getBlock') || Number(request.params[0]) !== number) return undefined
    return { ok: true, value: request.method === 'eth_getBlockByNumber' ? block : [] } as const
  }
  chain.answer = answerTo(11, { number: '0xb', hash: chain.hash(11), parentHash: chain.hash(9), timestamp: '0x1' })
  t.match(await nextStep(following, cursor), {
    type: 'unlinked',
    reason: /block 11 .* another parent than its block 10/,
  })
  chain.answer = answerTo(11, null)
  t.match(await nextStep(following, cursor), { type: 'unlinked', reason: /no block 11, although its newest one is 12/ })
  chain.answer = () => undefined
  t.match(await nextStep(following, cursor), { type: 'advance' })
})
