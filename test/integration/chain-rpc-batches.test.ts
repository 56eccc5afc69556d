/** Batches of the RPC client against servers with limits on one body. */
import t, { type Test } from 'tap'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import type { RpcBatchLimits } from '../../src/chain/settings.ts'
import { type RpcNode, startRpcNode } from '../support/rpc-node.ts'

function connect(t: Test, { url }: RpcNode, batch?: RpcBatchLimits) {
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const limits = batch === undefined ? {} : { batch }
  const options = { urls: [url], chainId: 1, timeoutMs: 60_000, now: Date.now, log: silent, ...limits }
  const client = createRpcClient(options)
  t.after(() => client.close())
  return client
}

t.test('a batch is split to the limit of the client, and to the limit of a node that has a lower one', async (t) => {
  const node = await startRpcNode(t)
  const client = connect(t, node)
  const requests = Array.from({ length: 250 }, (_, i) => ({ method: 'eth_getBalance', params: [i] }))
  const places = async () =>
    (await client.batch(requests)).map((result) =>
      result.ok ? (result.value as { params: number[] }).params[0] : result,
    )
  t.strictSame(
    await places(),
    requests.map(({ params }) => params[0]),
  )
  t.equal(node.bodies, 1 + 3, 'the client sends one probe and three batches')
  node.batchLimit = 10
  t.strictSame(
    await places(),
    requests.map(({ params }) => params[0]),
    'the results are in the order of the requests',
  )
  const { bodies } = node
  await places()
  t.ok(node.bodies - bodies < 40, 'the client remembers the lower limit')
  t.hasStrict(client.health()[0], { state: 'ready', failures: 0 })
})

t.test('a batch that a server refuses as too large, in any wording, is sent in halves', async (t) => {
  const large = (i: number) => ({ method: 'eth_call', params: [i, 'x'.repeat(10_000)] })
  const requests = Array.from({ length: 40 }, (_, i) => large(i))
  const ways: Readonly<Record<string, Partial<RpcNode>>> = {
    'the connection is cut': { maxBodyBytes: 100_000, oversized: 'cut' },
    'HTTP 413': { maxBodyBytes: 100_000, oversized: '413' },
    'one error for all': { batchLimit: 7, batchRefusal: { code: -32600, message: 'Invalid Request' } },
    'one error in words that nobody knows': {
      batchLimit: 7,
      batchRefusal: { code: -32603, message: 'Internal error' },
    },
  }
  for (const [way, limits] of Object.entries(ways)) {
    const node = await startRpcNode(t)
    const client = connect(t, node)
    await client.call('eth_gasPrice')
    Object.assign(node, limits)
    const results = await client.batch(requests)
    const places = results.map((result) => (result.ok ? (result.value as { params: unknown[] }).params[0] : result))
    t.strictSame(places, [...requests.keys()], way)
    t.hasStrict(client.health()[0], { state: 'ready', failures: 0 }, way)
  }
})

t.test('both limits of a batch are settings', async (t) => {
  const node = await startRpcNode(t)
  const requests = Array.from({ length: 12 }, () => ({ method: 'eth_call', params: ['x'.repeat(1_000)] }))
  const bodiesFor = async (maxCalls: number, maxBytes: number) => {
    const client = connect(t, node, { maxCalls, maxBytes })
    await client.call('eth_gasPrice')
    const before = node.bodies
    await client.batch(requests)
    return node.bodies - before
  }
  t.strictSame([await bodiesFor(100, 500_000), await bodiesFor(5, 500_000), await bodiesFor(100, 3_500)], [1, 3, 4])
})
