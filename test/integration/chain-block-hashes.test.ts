/** Reads at a block by its hash, on nodes that take only numbers. */
import t, { type Test } from 'tap'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { NodeError, startRpcNode } from '../support/rpc-node.ts'

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
const BLOCK = { number: '0x7', hash: `0x${'ab'.repeat(32)}` }
const OTHER = `0x${'cd'.repeat(32)}`
const read = (hash = BLOCK.hash) => ({ method: 'eth_getBalance', params: ['0xa', { blockHash: hash }] })

/** @param refusal how the node answers an object where it wants a block */
async function withOldNode(t: Test, refusal: NodeError) {
  const node = await startRpcNode(t)
  const chain = { hash: BLOCK.hash }
  node.answer = ({ method, params }) => {
    if (method === 'eth_getBlockByHash') return params[0] === chain.hash ? BLOCK : null
    if (method === 'eth_getBlockByNumber') return { ...BLOCK, hash: chain.hash }
    return typeof params[1] === 'string' ? { at: params[1] } : refusal
  }
  const clock = { ms: 0 }
  const client = createRpcClient({ urls: [node.url], chainId: 1, timeoutMs: 60_000, now: () => clock.ms, log: SILENT })
  t.after(() => client.close())
  return { node, chain, client, clock }
}

t.test('a node that takes no hashes is asked by number, between two looks at the block', async (t) => {
  for (const refusal of [
    new NodeError('invalid argument 1: json: cannot unmarshal object into Go value of type string'),
    new NodeError('Invalid params', -32602),
  ]) {
    const { node, client } = await withOldNode(t, refusal)
    const plain = { method: 'eth_getBalance', params: ['0xb', 'latest'] }
    t.strictSame(await client.batch([read(), plain]), [
      { ok: true, value: { at: '0x7' } },
      { ok: true, value: { at: 'latest' } },
    ])
    const before = node.asked.length
    matchExactly(t, await client.batch([read()]), [{ ok: true, value: { at: '0x7' } }])
    const asked = node.asked.slice(before).map(({ method }) => method)
    const look = 'eth_getBlockByNumber'
    t.strictSame(asked, ['eth_getBlockByHash', look, 'eth_getBalance', look], 'the hash is not tried again')
  }
})

t.test('one odd refusal of a hash counts for a minute, not for the life of the process', async (t) => {
  const { node, client, clock } = await withOldNode(t, new NodeError('Invalid params', -32602))
  await client.batch([read()])
  node.answer = ({ params }) => ({ at: params[1] })
  clock.ms = 59_000
  t.not((await client.batch([read()]))[0], undefined)
  clock.ms = 61_000
  t.strictSame(await client.batch([read()]), [{ ok: true, value: { at: { blockHash: BLOCK.hash } } }])
})

t.test('an answer counts only if the block of the number had the hash before and after it', async (t) => {
  const { node, chain, client } = await withOldNode(t, new NodeError('Invalid params', -32602))
  matchExactly(t, await client.batch([read(OTHER)]), [{ ok: false, error: { message: 'header for hash not found' } }])
  const answer = node.answer
  node.answer = (request) => {
    const given = answer(request)
    // A reorg between the read and the second look.
    if (request.method === 'eth_getBalance' && request.params[1] === '0x7') chain.hash = OTHER
    return given
  }
  matchExactly(t, await client.batch([read()]), [
    { ok: false, error: { kind: 'answer', message: 'header for hash not found' } },
  ])
})

t.test('a node that takes hashes is never asked by number', async (t) => {
  const node = await startRpcNode(t)
  const client = createRpcClient({ urls: [node.url], chainId: 1, timeoutMs: 60_000, now: Date.now, log: SILENT })
  t.after(() => client.close())
  node.answer = ({ params }) => (params[0] === '0xbad' ? new NodeError('execution reverted', 3) : { at: params[1] })
  const reverts = { method: 'eth_call', params: ['0xbad', { blockHash: BLOCK.hash }] }
  matchExactly(t, await client.batch([read(), reverts]), [
    { ok: true, value: { at: { blockHash: BLOCK.hash } } },
    { ok: false },
  ])
  t.equal(node.asked.length, 2)
})
