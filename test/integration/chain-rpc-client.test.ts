/** The RPC client against servers that fail like real ones, over real connections. */
import t, { type Test } from 'tap'
import { createRpcClient, type RpcClientOptions } from '../../src/chain/rpc-client.ts'
import type { RpcObservation } from '../../src/chain/rpc-endpoint.ts'
import { type Fault, NodeError, type RpcNode, startRpcNode } from '../support/rpc-node.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const FAULTS: readonly Fault[] = ['refuse', 'status 502', 'status 429', 'html', 'cut', 'hang', 'silent', 'overloaded']
const READ = { method: 'eth_getBalance', params: ['0xa', 'latest'] }
/** Longer than the machine ever pauses: no request that is answered times out. */
const PATIENCE_MS = 60_000
/** A request that hangs is given up; this long a pause of the machine would give up others as well. */
const hangsFor = (fault: Fault) => (fault === 'hang' ? { timeoutMs: 3_000 } : {})

type Logged = { readonly level: string; readonly message: string; readonly fields: Record<string, unknown> }

/** A client whose clock only moves when the test moves it. */
function connect(t: Test, nodes: readonly Pick<RpcNode, 'url'>[], options: Partial<RpcClientOptions> = {}) {
  const clock = { now: 1_000_000 }
  const logs: Logged[] = []
  const log = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void logs.push({ level, message, fields })
  const client = createRpcClient({
    urls: nodes.map(({ url }) => url),
    chainId: 1,
    timeoutMs: PATIENCE_MS,
    now: () => clock.now,
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    ...options,
  })
  t.after(() => client.close())
  return { client, clock, logs }
}

/** Moves the clock with each request, like real time. */
async function read(connected: ReturnType<typeof connect>): Promise<string> {
  connected.clock.now += 1
  const [result] = await connected.client.batch([READ])
  return result?.ok ? 'ok' : result?.error.kind === 'unavailable' ? result.error.reason : 'answer'
}

t.test('when the first URL fails, in any way, the second one answers', async (t) => {
  for (const fault of FAULTS) {
    const [first, second] = [await startRpcNode(t), await startRpcNode(t)]
    const { client } = connect(t, [first, second], hangsFor(fault))
    await client.call('eth_gasPrice')
    t.equal(first.asked.length, 1, 'the first URL is asked first')
    first.fault = fault
    t.strictSame(
      await client.call('eth_getBalance', ['0xa']),
      { method: 'eth_getBalance', params: ['0xa'] },
      `read after ${fault}`,
    )
    const [submission] = await client.sendRawTransactions(['0x02'])
    t.equal(submission?.outcome, 'accepted', `send after ${fault}`)
    t.equal(second.asked.filter(({ method }) => method === 'eth_sendRawTransaction').length, 1)
  }
})

t.test('when no URL answers, the error has the reason, and a batch does not throw', async (t) => {
  const reasons: Record<string, string> = {
    refuse: 'network',
    'status 502': 'http_status',
    'status 429': 'rate_limited',
    html: 'invalid_response',
    cut: 'network',
    hang: 'timeout',
    silent: 'invalid_response',
    overloaded: 'rate_limited',
  }
  for (const fault of FAULTS) {
    const node = await startRpcNode(t)
    const connected = connect(t, [node], hangsFor(fault))
    t.equal(await read(connected), 'ok')
    node.fault = fault
    t.equal(await read(connected), reasons[fault], fault)
    const [submission] = await connected.client.sendRawTransactions(['0x02'])
    t.equal(submission?.outcome, 'unavailable', fault)
  }
  const gone = connect(t, [{ url: 'http://127.0.0.1:1' }])
  await t.rejects(gone.client.call('eth_gasPrice'), { code: 'rpc_unavailable', retryable: true })
})

t.test('a URL of another chain is never used, and the mistake is logged without the URL', async (t) => {
  const [wrong, right] = [await startRpcNode(t, { chainId: 56 }), await startRpcNode(t)]
  const connected = connect(t, [wrong, right])
  for (let i = 0; i < 3; i++) t.equal(await read(connected), 'ok')
  t.equal(wrong.asked.length, 0)
  t.equal(wrong.bodies, 1, 'a URL of another chain is probed once')
  const mistakes = connected.logs.filter(({ level }) => level === 'error').map(({ fields }) => fields)
  t.strictSame(mistakes, [{ endpoint: 0, host: new URL(wrong.url).host, chain_id: 56, expected_chain_id: 1 }])
  t.notMatch(JSON.stringify(connected.logs), /secret-key/)
  t.equal(connected.client.health()[0]?.state, 'wrong_chain')

  wrong.chainId = 1
  connected.clock.now += 60_000
  await read(connected)
  await read(connected)
  t.equal(connected.client.health()[0]?.state, 'ready', 'a corrected URL is used again')
})

t.test('a chain that was replaced behind the same URL is noticed after the connection broke', async (t) => {
  const node = await startRpcNode(t)
  const connected = connect(t, [node])
  t.equal(await read(connected), 'ok')
  await node.stop()
  t.equal(await read(connected), 'network')
  const other = await startRpcNode(t, { port: node.port, chainId: 56 })
  t.equal(await read(connected), 'no_endpoint')
  t.equal(other.asked.length, 0)
})

t.test('a broken URL is not used after three failures, and is tried again automatically', async (t) => {
  const node = await startRpcNode(t)
  const connected = connect(t, [node])
  await read(connected)
  node.fault = 'status 502'
  for (let i = 0; i < 3; i++) t.equal(await read(connected), 'http_status')
  const { bodies } = node
  for (let i = 0; i < 10; i++) t.equal(await read(connected), 'no_endpoint')
  t.equal(node.bodies, bodies, 'no request is sent while the URL rests')
  t.equal(connected.client.health()[0]?.state, 'open')

  connected.clock.now += 500
  t.equal(await read(connected), 'http_status', 'one trial request is sent')
  t.equal(await read(connected), 'no_endpoint')
  connected.clock.now += 1_000
  node.fault = 'none'
  t.equal(await read(connected), 'ok')
  t.hasStrict(connected.client.health()[0], { state: 'ready', failures: 0 })
  t.ok(connected.logs.some(({ message }) => message === 'RPC URL answers again'))
})

t.test('many requests that fail together are one failure', async (t) => {
  const node = await startRpcNode(t)
  const connected = connect(t, [node])
  await read(connected)
  node.fault = 'refuse'
  connected.clock.now += 1
  await Promise.all(Array.from({ length: 20 }, () => connected.client.batch([READ])))
  t.equal(connected.client.health()[0]?.failures, 1)
})

t.test('an error of one request does not count against the server', async (t) => {
  const node = await startRpcNode(t)
  const connected = connect(t, [node])
  node.answer = ({ method }) =>
    new NodeError(method === 'eth_sendRawTransaction' ? 'account limit exceeded' : 'execution aborted (timeout = 5s)')
  for (let i = 0; i < 5; i++) {
    t.equal(await read(connected), 'overloaded')
    t.equal((await connected.client.sendRawTransactions(['0x02']))[0]?.outcome, 'pool_full')
  }
  t.hasStrict(connected.client.health()[0], { state: 'ready', failures: 0 })
  await t.rejects(connected.client.call('eth_call'), { code: 'rpc_unavailable', retryable: true })
})

t.test('a URL that asks for a pause gets it', async (t) => {
  const node = await startRpcNode(t)
  const connected = connect(t, [node])
  await read(connected)
  node.fault = 'status 429'
  t.equal(await read(connected), 'rate_limited')
  node.fault = 'none'
  connected.clock.now += 6_000
  t.equal(await read(connected), 'no_endpoint')
  connected.clock.now += 1_000
  t.equal(await read(connected), 'ok')
})

t.test('a URL whose head lags behind a quorum is not preferred for reads, but gets what is sent', async (t) => {
  const [late, fresh, other] = [await startRpcNode(t), await startRpcNode(t), await startRpcNode(t)]
  const connected = connect(t, [late, fresh, other])
  late.head = 94
  await read(connected)
  await untilProbed(connected.client)
  const before = late.asked.length
  await read(connected)
  t.equal(late.asked.length, before)
  await connected.client.sendRawTransactions(['0x02'])
  t.equal(late.asked.length, before + 1)
  late.head = 100
  connected.clock.now += 5_000
  await read(connected)
  await untilProbed(connected.client, 100)
  await read(connected)
  t.equal(late.asked.length, before + 2, 'a URL whose head caught up is preferred again')
})

function untilProbed(client: ReturnType<typeof createRpcClient>, head = 94): Promise<true> {
  return eventually(() => {
    const [late, fresh] = client.health()
    return late?.head === head && fresh?.head === 100 && late.lagging === head < 95
  })
}

t.test('the next node gets only what the first one lacks, and the last error outlives a timeout', async (t) => {
  const [pruned, archive] = [await startRpcNode(t), await startRpcNode(t)]
  const { client } = connect(t, [pruned, archive])
  pruned.answer = ({ params }) => (params[0] === 'old' ? new NodeError('missing trie node ab') : 'pruned')
  archive.answer = () => 'archive'
  const requests = ['new', 'old', 'new'].map((which) => ({ method: 'eth_call', params: [which] }))
  const values = (await client.batch(requests)).map((result) => (result.ok ? result.value : result.error.message))
  t.strictSame(values, ['pruned', 'archive', 'pruned'])
  t.equal(archive.asked.length, 1)
  archive.fault = 'refuse'
  const [, old] = await client.batch(requests)
  t.hasStrict(old, { ok: false, error: { kind: 'answer', message: 'missing trie node ab' } })
  pruned.answer = () => new NodeError('execution reverted', 3)
  await t.rejects(client.call('eth_call', ['new']), { code: 'rpc_error', retryable: false })
})

t.test('signed bytes go to every node, and one that keeps them or hangs delays nothing', async (t) => {
  const nodes = [await startRpcNode(t), await startRpcNode(t), await startRpcNode(t)]
  const { client } = connect(t, nodes)
  const [first, second] = nodes
  if (first === undefined || second === undefined) throw new Error('no nodes')
  await client.sendRawTransactions(['0x01'])
  first.fault = 'hang'
  second.answer = () => new NodeError('already known')
  t.equal((await client.sendRawTransactions(['0x02']))[0]?.outcome, 'accepted')
  for (const { asked } of nodes) await eventually(() => asked.some(({ params }) => params[0] === '0x02'))
  second.answer = () => new NodeError('invalid sender')
  t.equal(
    (await client.sendRawTransactions(['0x03']))[0]?.outcome,
    'accepted',
    'one node alone cannot refuse them for ever',
  )
})

t.test(
  'the number of transactions of an account is not what one of three nodes says, nor one host with two URLs',
  async (t) => {
    const nodes = [await startRpcNode(t), await startRpcNode(t), await startRpcNode(t)]
    const liar = nodes[0] as RpcNode
    const head = { number: '0x64', hash: `0x${'ab'.repeat(32)}`, parentHash: '0xcd' }
    for (const node of nodes)
      node.answer = (asked) => (/Block/.test(asked.method) ? head : node === liar ? '0x3e8' : '0x5')
    const { client } = connect(t, [...nodes, { url: `${liar.url}/again` }])
    t.equal(await client.transactionCount('0xa'), 5)
    liar.fault = 'hang'
    t.equal(await client.transactionCount('0xa'), 5)
  },
)

t.test('transactions go to a node in the order in which they were given', async (t) => {
  const node = await startRpcNode(t)
  const { client } = connect(t, [node])
  const raws = Array.from({ length: 350 }, (_, i) => `0x${i}`)
  node.answer = ({ params }) => (params[0] === '0x7' ? new NodeError('nonce too low') : `0x${'ab'.repeat(32)}`)
  const outcomes = (await client.sendRawTransactions(raws)).map(({ outcome }) => outcome)
  t.strictSame(
    node.asked.map(({ params }) => params[0]),
    raws,
  )
  t.strictSame(
    outcomes.map((outcome, i) => (i === 7 ? outcome : outcome === 'accepted')),
    raws.map((_, i) => (i === 7 ? 'nonce_too_low' : true)),
  )
  t.strictSame(await client.sendRawTransactions([]), [])
})

t.test('connections are kept, and one that the server closed under a request costs nothing', async (t) => {
  const node = await startRpcNode(t)
  const connected = connect(t, [node])
  for (let i = 0; i < 20; i++) await read(connected)
  t.equal(node.connections, 1)
  node.fault = 'stale'
  t.equal(await read(connected), 'ok')
  t.equal(node.connections, 2)
  t.hasStrict(connected.client.health()[0], { state: 'ready', failures: 0 })
})

t.test('the metrics count each exchange by the position of its URL', async (t) => {
  const node = await startRpcNode(t)
  const seen: Omit<RpcObservation, 'ms'>[] = []
  const { client } = connect(t, [node], { onExchange: ({ ms: _ms, ...exchange }) => void seen.push(exchange) })
  await client.batch([READ, READ])
  node.answer = () => new NodeError('execution reverted', 3)
  await client.batch([READ, { method: 'eth_call', params: [] }])
  node.fault = 'refuse'
  await client.batch([READ])
  t.strictSame(seen, [
    { method: 'batch', requests: 2, endpoint: 0, outcome: 'ok' },
    { method: 'eth_getBalance', requests: 2, endpoint: 0, outcome: 'ok' },
    { method: 'batch', requests: 2, endpoint: 0, outcome: 'error' },
    { method: 'eth_getBalance', requests: 1, endpoint: 0, outcome: 'unavailable' },
  ])
  t.notMatch(JSON.stringify(seen), /secret-key/)
})

t.test('after close every request fails at once, including pending ones', async (t) => {
  const node = await startRpcNode(t)
  const connected = connect(t, [node])
  await read(connected)
  node.fault = 'hang'
  const pending = read(connected)
  setTimeout(() => connected.client.close(), 20)
  t.equal(await pending, 'network')
  t.not(await read(connected), 'ok')
})
