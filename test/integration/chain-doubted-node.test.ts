/** Of several nodes the first one shows wrong blocks: the follower goes on with another one, without a pause. */
import t from 'tap'
import { createPace, nextStep } from '../../src/chain/follow.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { createFakeChain } from '../support/fake-chain.ts'
import { startRpcNode } from '../support/rpc-node.ts'
import { eventually } from '../support/sandbox-eventually.ts'

t.test('a node that shows wrong blocks is asked last while others are there, and first again later', async (t) => {
  const chain = createFakeChain()
  chain.grow(12)
  const [odd, honest, other] = [await startRpcNode(t), await startRpcNode(t), await startRpcNode(t)]
  for (const node of [odd, honest, other]) {
    node.answer = chain.value
    node.head = chain.head()
  }
  let asked = 0
  odd.answer = (request) => {
    const given = chain.value(request)
    const isWhole = request.method === 'eth_getBlockByNumber' && request.params[1] === true
    if (isWhole) asked += 1
    return isWhole ? null : given
  }
  const clock = { ms: 0 }
  const warned: string[] = []
  const log = {
    info: () => undefined,
    warn: (_: object, message: string) => void warned.push(message),
    error: () => undefined,
  }
  const urls = [odd.url, honest.url, other.url]
  const client = createRpcClient({ urls, chainId: 1, timeoutMs: 60_000, now: () => clock.ms, log })
  t.after(() => client.close())
  const storedHashes = () => new Map([[10, chain.hash(10)]])
  const following = { how: { recover: null, blockReceipts: true }, client, storedHashes, pace: createPace() }
  const step = async (ms: number) => {
    clock.ms = ms
    asked = 0
    return { type: (await nextStep(following, { number: 10, hash: chain.hash(10) })).type, asked: asked > 0 }
  }
  t.strictSame(await step(0), { type: 'advance', asked: true })
  t.strictSame(warned, ['RPC URL shows wrong or too few blocks: it is asked last'])
  t.strictSame(await step(1_000), { type: 'advance', asked: false })
  t.strictSame(await step(320_000), { type: 'advance', asked: true }, 'it is looked at again')
})

t.test('a head that one node claims alone does not make the others lag', async (t) => {
  const [honest, liar, other] = [await startRpcNode(t), await startRpcNode(t), await startRpcNode(t)]
  const clock = { ms: 0 }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const urls = [honest.url, liar.url, other.url]
  const client = createRpcClient({ urls, chainId: 1, timeoutMs: 60_000, now: () => clock.ms, log })
  t.after(() => client.close())
  liar.head = 1_100
  await client.call('eth_gasPrice')
  await eventually(() => client.health()[1]?.head === 1_100)
  clock.ms += 1
  const before = honest.asked.length
  await client.call('eth_gasPrice')
  t.equal(honest.asked.length, before + 1)
})
