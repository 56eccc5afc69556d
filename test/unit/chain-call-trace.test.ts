/** Who reverted, from the frames of a call tracer: what a hostile token can and cannot make of them. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { askReverter, reverterOf, traceTransaction } from '../../src/chain/call-trace.ts'
import type { RpcReader } from '../../src/chain/json-rpc.ts'

const ROUTER = '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45'
const TOKEN = '0x5fbdb2315678afecb367f032d93f642f64180aa3'
const POOL = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const SAID = new Interface(['error Error(string)']).encodeErrorResult('Error', ['Too little received'])

type Frame = { readonly type: string; readonly from: string; readonly to: string; readonly calls?: readonly object[] }
const failed = (type: string, from: string, to: string, ...calls: readonly object[]) => ({
  type,
  from,
  to: to.toLowerCase(),
  error: 'execution reverted',
  output: SAID,
  calls,
})
const returned = ({ ...frame }: Frame) => ({ ...frame, output: '0x01' })
const byOf = (trace: unknown) => reverterOf(trace, ROUTER)?.by

t.test('a router that reverts itself is to blame, also inside of its multicall', async (t) => {
  const paid = returned({ type: 'CALL', from: ROUTER, to: POOL })
  t.strictSame(reverterOf(failed('CALL', POOL, ROUTER, paid), ROUTER), { by: ROUTER, reason: 'Too little received' })
  t.equal(byOf(failed('CALL', POOL, ROUTER, failed('DELEGATECALL', ROUTER, ROUTER, paid))), ROUTER)
  t.equal(byOf(failed('CALL', POOL, ROUTER, failed('CALL', ROUTER, ROUTER))), ROUTER)
})

t.test('a token whose revert the router passes on is to blame', async (t) => {
  const asked = failed('STATICCALL', ROUTER, TOKEN)
  t.equal(byOf(failed('CALL', POOL, ROUTER, asked)), TOKEN)
  t.equal(byOf(failed('CALL', POOL, ROUTER, failed('DELEGATECALL', ROUTER, ROUTER, asked))), TOKEN)
})

t.test('a token that makes the router revert, or runs its code, is to blame all the same', async (t) => {
  const calls = failed('STATICCALL', ROUTER, TOKEN, failed('STATICCALL', TOKEN, ROUTER))
  t.equal(byOf(failed('CALL', POOL, ROUTER, calls)), TOKEN)
  const runs = failed('STATICCALL', ROUTER, TOKEN, failed('DELEGATECALL', TOKEN, ROUTER))
  t.equal(byOf(failed('CALL', POOL, ROUTER, runs)), TOKEN)
})

t.test('a failed call whose data the router did not pass on is not to blame', async (t) => {
  const caught = { ...failed('CALL', ROUTER, TOKEN), output: '0x' }
  t.equal(byOf(failed('CALL', POOL, ROUTER, caught)), ROUTER)
})

t.test('a trace of another call, of one that succeeds, or that is no trace says nothing', async (t) => {
  t.equal(reverterOf(failed('CALL', POOL, TOKEN), ROUTER), null)
  t.equal(reverterOf(returned({ type: 'CALL', from: POOL, to: ROUTER }), ROUTER), null)
  for (const trace of [null, 'x', [], {}, { error: 'x' }, { ...failed('CALL', POOL, ROUTER), to: 5 }])
    t.equal(reverterOf(trace, ROUTER), null)
  t.equal(byOf({ ...failed('CALL', POOL, ROUTER), calls: 'none' }), ROUTER)
  t.equal(byOf(failed('CALL', POOL, ROUTER, { ...failed('CALL', ROUTER, TOKEN), to: undefined })), undefined)
})

t.test('a node without a tracer, or without an answer, says nothing', async (t) => {
  const refuses: RpcReader = {
    batch: async () => [{ ok: false, error: { kind: 'answer', code: -32601, message: 'no', data: undefined } }],
  } as unknown as RpcReader
  const silent = { batch: () => Promise.reject(new Error('closed')) } as unknown as RpcReader
  for (const client of [refuses, silent]) t.equal(await askReverter(client, traceTransaction('0x1'), ROUTER), null)
})
