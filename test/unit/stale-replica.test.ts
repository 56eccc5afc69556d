/** The stale node of the fault tests answers like a real one: a false answer that no node gives proves nothing. */
import t from 'tap'
import { matchExactly } from '../support/match-exactly.ts'
import type { Message, RpcCall } from '../support/node-fates.ts'
import { askStale } from '../support/stale-replica.ts'

const BLOCKS = new Map([
  ['0xold', '0x30'],
  ['0xnew', '0x63'],
])

/** A node at block 100 that returns its request. */
async function forward(calls: readonly RpcCall[]): Promise<Message[]> {
  return calls.map(({ id, method, params }) => {
    if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: '0x64' }
    const number = BLOCKS.get(String(params[0]))
    if (method === 'eth_getBlockByHash') return { jsonrpc: '2.0', id, result: number === undefined ? null : { number } }
    return { jsonrpc: '2.0', id, result: params }
  })
}

const ask = async (method: string, ...params: unknown[]) => {
  const [message] = await askStale(forward, [{ id: 7, method, params }], 50)
  return message
}

t.test('a read at the newest block is answered from the newest block that the replica has', async (t) => {
  t.match(await ask('eth_blockNumber'), { id: 7, result: '0x32' })
  matchExactly(t, await ask('eth_getBalance', '0xa', 'latest'), { result: ['0xa', '0x32'] })
  t.match(await ask('eth_getBlockByNumber', '0x63', false), { result: null })
  t.match(await ask('eth_getBalance', '0xa', '0x63'), { error: { message: 'header not found' } })
})

t.test('a read at the hash of a block is answered from this block, or refused', async (t) => {
  matchExactly(t, await ask('eth_getBalance', '0xa', { blockHash: '0xold' }), {
    result: ['0xa', { blockHash: '0xold' }],
  })
  const refusal = { id: 7, error: { message: 'header not found' }, result: undefined }
  t.match(await ask('eth_call', {}, { blockHash: '0xnew' }), refusal)
  t.match(await ask('eth_call', {}, { blockHash: '0xof another branch' }), refusal)
})
