/** Of two nodes the first one shows blocks that lead nowhere: the follower goes on with the other one. */
import t from 'tap'
import { createFollower, type FollowStep } from '../../src/chain/follow.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { createStallReport } from '../../src/follower/stalls.ts'
import { createFakeChain } from '../support/fake-chain.ts'
import { startRpcNode } from '../support/rpc-node.ts'

t.test('a node whose blocks do not link is asked last while another one is there, and first again later', async (t) => {
  const chain = createFakeChain()
  chain.grow(12)
  const cursor = { number: 10, hash: chain.hash(10) }
  const [odd, honest] = [await startRpcNode(t), await startRpcNode(t)]
  honest.answer = chain.value
  honest.head = chain.head()
  odd.head = chain.head()
  odd.answer = (request) => {
    const given = chain.value(request)
    const isNext = request.method === 'eth_getBlockByNumber' && Number(request.params[0]) === 11
    return isNext ? { ...(given as object), parentHash: chain.hash(9) } : given
  }
  const clock = { ms: 0 }
  const warned: string[] = []
  const log = {
    info: () => undefined,
    warn: (_: object, message: string) => void warned.push(message),
    error: () => undefined,
  }
  const urls = [odd.url, honest.url]
  const client = createRpcClient({ urls, chainId: 1, timeoutMs: 60_000, now: () => clock.ms, log })
  t.after(() => client.close())
  const pool = { query: async () => ({ rows: [] }) } as never
  const now = () => clock.ms
  const stalls = createStallReport({ pool, onStall: () => undefined, onLasting: client.doubtFirst, now }, 1)
  const { nextStep } = createFollower({ client, storedHashes: () => new Map([[10, chain.hash(10)]]) })
  const step = async (ms: number): Promise<FollowStep['type']> => {
    clock.ms = ms
    const next = await nextStep(cursor)
    await stalls.stepped(next)
    return next.type
  }
  t.equal(await step(0), 'unlinked')
  t.equal(await step(5_000), 'unlinked', 'a reorg during the read would be over')
  t.equal(await step(10_000), 'unlinked')
  t.equal(await step(11_000), 'advance')
  t.strictSame(warned, ['RPC URL shows blocks that lead nowhere: it is asked last'])
  t.equal(await step(320_000), 'unlinked', 'it is looked at again')
})

t.test('the only node is never asked last', async (t) => {
  const node = await startRpcNode(t)
  const log = { info: () => undefined, warn: () => t.fail('there is nothing to tell'), error: () => undefined }
  const client = createRpcClient({ urls: [node.url], chainId: 1, timeoutMs: 60_000, now: Date.now, log })
  t.after(() => client.close())
  client.doubtFirst()
  t.match(await client.batch([{ method: 'eth_gasPrice', params: [] }]), [{ ok: true }])
})
