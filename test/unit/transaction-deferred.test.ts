/** What is deferred in a lane, and for how long; and estimates of calls requested together. */

import t from 'tap'
import type { RpcReader, RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'
import { createEstimateGas, type GasRequest } from '../../src/transactions/estimate-gas.ts'
import { createDeferred } from '../../src/transactions/held-lanes.ts'
import { osakaPlainGas } from '../support/gas.ts'
import { oneNode } from '../support/one-node.ts'

const LANE = { chainId: 1, address: '0xA' }
const ANOTHER = { chainId: 1, address: '0xB' }

t.test('a deferred transaction is due again after a pause that doubles, up to ten minutes', async (t) => {
  let now = 0
  const deferred = createDeferred(() => now)
  deferred.add(ANOTHER, 'tx_other')
  let pause = 250
  for (let tries = 0; tries < 20; tries += 1) {
    deferred.add(LANE, 'tx_1')
    now += pause - 1
    t.strictSame([deferred.of(LANE), deferred.due(LANE)], [['tx_1'], []])
    now += 1
    t.strictSame(deferred.due(LANE), ['tx_1'])
    pause = Math.min(600_000, 2 * pause)
  }
  deferred.forget('tx_1')
  t.strictSame([deferred.of(LANE), deferred.of(ANOTHER)], [[], ['tx_other']])
})

t.test('a bounded number of transactions is deferred', async (t) => {
  const deferred = createDeferred(() => 0)
  for (let n = 0; n < 10_100; n += 1) deferred.add(LANE, `tx_${n}`)
  t.equal(deferred.of(LANE).length, 10_000)
  t.equal(deferred.of(LANE)[0], 'tx_100')
})

const noCode = { haveCode: async (addresses: readonly string[]) => addresses.map(() => true) }
const request = (to: string): GasRequest => ({ from: '0xA', call: { to, value: 1n, data: '0x' }, mostGas: 50_000n })
const silence: RpcResult = {
  ok: false,
  error: { kind: 'unavailable', reason: 'timeout', message: 'no response in time' },
}
const says = (message: string): RpcResult => ({ ok: false, error: { kind: 'answer', code: -32000, message } })
const target = ({ params: [call] }: RpcRequest) => (call as { to?: string } | undefined)?.to

function reading(answer: (request: RpcRequest, together: readonly RpcRequest[]) => RpcResult) {
  const bodies: (readonly RpcRequest[])[] = []
  const client: RpcReader = {
    batch: async (requests) => {
      bodies.push(requests)
      return requests.map((one) =>
        one.method === 'eth_blockNumber' ? { ok: true, value: '0x64' } : answer(one, requests),
      )
    },
  }
  return { bodies, client }
}

t.test('after a call that is never answered the others of its body are sent alone', async (t) => {
  const { bodies, client } = reading((_, together) =>
    together.some((one) => target(one) === '0xslow') ? silence : { ok: true, value: '0x64' },
  )
  const estimates = await createEstimateGas(
    oneNode(client),
    noCode,
    osakaPlainGas,
  )(['0x1', '0xslow', '0x2'].map(request))
  t.strictSame(
    estimates.map((estimate) => (estimate.ok ? estimate.gasLimit : estimate.code)),
    [120n, 'could_not_simulate', 120n],
  )
  t.equal(bodies.length, 4)
  t.ok(
    bodies
      .flat()
      .every(
        ({ method, params: [call] }) => method === 'eth_blockNumber' || (call as { gas: string }).gas === '0xc350',
      ),
  )
})

t.test('a refusal counts only at a block that has the balance on which the transaction was accepted', async (t) => {
  const judge = async (second: RpcResult, observed: number) => {
    const { bodies, client } = reading(({ params }) => (params.length === 2 ? second : says('execution reverted: no')))
    const [estimate] = await createEstimateGas(
      oneNode(client),
      noCode,
      osakaPlainGas,
      async () => observed,
    )([request('0x1')])
    return [estimate?.ok === false && estimate.code, bodies.at(-1)?.[0]?.params[1]]
  }
  t.strictSame(await judge(says('execution reverted: no'), 90), ['execution_reverted', '0x64'])
  t.strictSame(await judge(says('execution reverted: no'), 101), ['execution_reverted', '0x65'], 'a newer block counts')
  t.strictSame(await judge(says('header not found'), 101), ['could_not_simulate', '0x65'])
  t.strictSame(await judge({ ok: true, value: '0x1' }, 90), [false, '0x64'], 'a refusal at an older state is dropped')
  t.strictSame(await judge(says('too many arguments, want at most 1'), 90), ['execution_reverted', '0x64'])
  t.strictSame(await judge(says('too many arguments, want at most 1'), 101), ['could_not_simulate', '0x65'])
})

t.test('a call that succeeds with its least gas less the margin is not estimated; any other call is', async (t) => {
  const call = (to: string, more: Partial<GasRequest> = {}) => ({ ...request(to), leastGas: 120_000n, ...more })
  const { bodies, client } = reading(({ method, params: [asked] }) => {
    if (method === 'eth_estimateGas') return { ok: true, value: '0x186a1' }
    const { to, gas } = asked as { to: string; gas: string }
    return to === '0xenough' && gas === '0x186a0' ? { ok: true, value: '0x' } : says('execution reverted')
  })
  const promise = async () => null
  const requests = [call('0xenough'), call('0xmore'), call('0xenough', { sinceBlock: 101 }), request('0xplain')]
  t.strictSame(await createEstimateGas(oneNode(client), noCode, osakaPlainGas)(requests), [
    { ok: true, gasLimit: 120_000n },
    { ok: true, gasLimit: 120_001n },
    { ok: false, code: 'could_not_simulate', reason: 'the node has not seen block 101 yet', cause: 'behind' },
    { ok: true, gasLimit: 120_001n },
  ])
  const asked = (bodies[1] ?? []).map((one) => `${one.method} ${target(one)}`)
  t.strictSame(
    asked.slice(1),
    ['0xmore', '0xenough', '0xplain'].map((to) => `eth_estimateGas ${to}`),
  )
  await createEstimateGas(oneNode(client), noCode, osakaPlainGas)([call('0xenough', { promise })])
  t.equal(bodies[2]?.[1]?.method, 'eth_estimateGas', 'what a call must give is checked after its estimate')
})

t.test('a token transfer is called once with the gas of earlier ones, and estimated when that fails', async (t) => {
  const transfer = (to: string, more: Partial<GasRequest> = {}): GasRequest => ({
    from: '0xA',
    call: { to, value: 0n, data: '0xa9059cbb' },
    mostGas: 200_000n,
    isTokenTransfer: true,
    ...more,
  })
  let needed = 50_004
  let returned = `0x${'1'.padStart(64, '0')}`
  const { bodies, client } = reading(({ method, params: [asked] }) => {
    if (method === 'eth_estimateGas') return { ok: true, value: `0x${needed.toString(16)}` }
    const { gas } = asked as { gas: string }
    return Number(gas) >= needed ? { ok: true, value: returned } : says('out of gas')
  })
  const estimate = createEstimateGas(oneNode(client), noCode, osakaPlainGas)
  const methods = async (requests: readonly GasRequest[]) => {
    const from = bodies.length
    const estimates = await estimate(requests)
    const asked = bodies.slice(from).flatMap((body) => body.map(({ method }) => method))
    return [estimates, asked.filter((method) => method !== 'eth_blockNumber')]
  }
  const [estimated, called] = ['eth_estimateGas', 'eth_call']
  t.strictSame(await methods([transfer('0x1')]), [[{ ok: true, gasLimit: 60_004n }], [estimated]])
  t.strictSame(await methods([transfer('0x1'), transfer('0x2')]), [
    [
      { ok: true, gasLimit: 60_005n, isExecuted: true },
      { ok: true, gasLimit: 60_004n },
    ],
    [called, estimated],
  ])
  t.strictSame(
    (await methods([transfer('0x1', { sinceBlock: 101 })]))[1],
    [called, estimated],
    'a node that has not seen the block of the dependency proves nothing',
  )
  needed = 70_004
  t.strictSame(await methods([transfer('0x1')]), [[{ ok: true, gasLimit: 84_004n }], [called, estimated]])
  t.strictSame(await methods([transfer('0x1')]), [[{ ok: true, gasLimit: 84_005n, isExecuted: true }], [called]])
  t.strictSame(
    await methods([transfer('0x1', { mostGas: 70_003n })]),
    [[{ ok: true, gasLimit: 84_004n }], [estimated]],
    'no simulation gets more gas than its hold allows',
  )
  returned = `0x${'0'.repeat(64)}`
  t.strictSame(
    await methods([transfer('0x1')]),
    [[{ ok: true, gasLimit: 84_004n }], [called, estimated]],
    'a token that returns false does not count as executed',
  )
  returned = '0x'
  t.strictSame((await methods([transfer('0x1')]))[1], [called], 'a token may return nothing')
})
