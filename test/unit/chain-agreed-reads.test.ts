/** Reads that decide: pinned to the block of a quorum, cut to what is read, and the middle one where honest nodes differ. */
import t from 'tap'
import { always, HASH, Refusal, readsOf } from '../support/agreed-reads.ts'
import { matchExactly } from '../support/match-exactly.ts'

t.test('with a quorum of one, the reader is the plain one', async (t) => {
  const { reads, plain } = readsOf([always('0x1'), always('0x2')], { needed: 1 })
  t.equal(reads, plain)
})

t.test('tags are read at the number of the agreed block, which is asked for once a second', async (t) => {
  const { nodes, heads, ask } = readsOf([always('0x1'), always('0x1'), always('0x2')])
  t.match(await ask('eth_getCode', '0xa', 'latest'), { ok: true, value: '0x1' })
  t.match(await ask('eth_getBalance', '0xa', 'latest'), { ok: true, value: '0x1' })
  t.strictSame(
    nodes.map(({ asked }) => asked.map(({ params }) => params)),
    [
      [
        ['0xa', '0x64'],
        ['0xa', '0x64'],
      ],
      [
        ['0xa', '0x64'],
        ['0xa', '0x64'],
      ],
      [],
    ],
    'no more nodes are asked than are needed',
  )
  t.equal(heads.asked, 1)
  heads.now = 1_000
  await ask('eth_getBalance', '0xa', 'latest')
  t.equal(heads.asked, 2)
  await ask('eth_getBalance', '0xa', { blockHash: HASH })
  t.equal(heads.asked, 2, 'a block that is named needs no head')
})

t.test('a request for the head itself asks anew, and its neighbours are read at the same block', async (t) => {
  const { nodes, heads, reads, ask } = readsOf([always('0x1'), always('0x1')])
  await ask('eth_getBalance', '0xa', 'latest')
  heads.head = 101
  const results = await reads.batch([
    { method: 'eth_blockNumber', params: [] },
    { method: 'eth_getBalance', params: ['0xa', 'latest'] },
  ])
  t.strictSame(results, [
    { ok: true, value: '0x65' },
    { ok: true, value: '0x1' },
  ])
  t.strictSame(nodes[0]?.asked.at(-1)?.params, ['0xa', '0x65'])
})

t.test('without an agreed head, only what needs it is unanswered', async (t) => {
  const { reads } = readsOf([always('0x1'), always('0x1')], { head: -1 })
  const [number, code, past] = await reads.batch([
    { method: 'eth_blockNumber', params: [] },
    { method: 'eth_getCode', params: ['0xa', 'latest'] },
    { method: 'eth_getCode', params: ['0xa', '0x1'] },
  ])
  const unanswered = { ok: false, error: { kind: 'unavailable', message: '1 of 3 nodes answers' } }
  matchExactly(t, [number, code, past], [unanswered, unanswered, { ok: true, value: '0x1' }])
})

t.test(
  'a refusal counts for what it means: one of a liar and one of a node that is behind are not the same',
  async (t) => {
    const reverts = () => new Refusal('execution reverted')
    const isBehind = () => new Refusal('header not found')
    const honest = always('0x7')
    t.match(await readsOf([reverts, isBehind, honest]).ask('eth_call', {}, '0x1'), {
      ok: false,
      error: { reason: 'no_quorum' },
    })
    t.match(await readsOf([reverts, reverts, honest]).ask('eth_call', {}, '0x1'), {
      ok: false,
      error: { kind: 'answer', message: 'execution reverted' },
    })
    const gas = () => new Refusal('out of gas')
    t.match(await readsOf([reverts, gas]).ask('eth_call', {}, '0x1'), { error: { reason: 'no_quorum' } })
    const by = (data: string) => () => new Refusal('execution reverted', data)
    const agreed = [by('0xbad00001'), by('0x08c379a0'), by('0x08c379a0')]
    t.match(await readsOf(agreed).ask('eth_call', {}, '0x1'), { error: { data: '0x08c379a0' } })
  },
)

t.test('estimates that differ: the middle one, and of two the higher one', async (t) => {
  const estimate = (...said: readonly unknown[]) => readsOf(said.map(always)).ask('eth_estimateGas', {})
  t.match(await estimate('0x5208', '0x5300', '0xffffff'), { value: '0x5300' })
  t.match(await estimate('0x0', '0x5208', '0x5300'), { value: '0x5208' })
  t.match(await estimate('0x5208', '0x5300'), { value: '0x5300' })
  t.match(await estimate('0x5208', undefined), { ok: false }, 'one of two is no quorum')
  t.match(await estimate('0x5208', '0x5300', new Refusal('execution reverted')), { value: '0x5300' })
})

t.test('fees that differ: the middle ones, and of two the lower ones', async (t) => {
  t.match(await readsOf(['0x5', '0x1388', '0x6'].map(always)).ask('eth_gasPrice'), { value: '0x6' })
  t.match(await readsOf(['0x1388', '0x5'].map(always)).ask('eth_gasPrice'), { value: '0x5' })
  const history = (base: string, tip: string, ratio = 0.25) => ({
    oldestBlock: '0x1',
    baseFeePerGas: ['0x1', base],
    gasUsedRatio: [ratio],
    reward: [['0x1', tip]],
  })
  const ask = (...said: readonly unknown[]) => readsOf(said.map(always)).ask('eth_feeHistory', '0x1', 'latest', [])
  matchExactly(t, await ask(history('0x7', '0x3'), history('0x1b58', '0xbb8'), history('0x7', '0x4')), {
    value: { baseFeePerGas: ['0x1', '0x7'], reward: [['0x1', '0x4']] },
  })
  t.match(await ask(history('0x7', '0x3', 0.25), history('0x7', '0x3', 0.2500001)), { ok: true }, 'digits do not count')
  t.match(await ask(history('0x7', '0x3'), { baseFeePerGas: [], reward: [] }), { error: { reason: 'no_quorum' } })
})

t.test('of a simulation only what is read of it is compared', async (t) => {
  const block = (gasLimit: string, returnData: string) => [
    { gasLimit, calls: [{ status: '0x1', returnData, gasUsed: '0x5', logs: [gasLimit] }] },
  ]
  const ask = (...said: readonly unknown[]) => readsOf(said.map(always)).ask('eth_simulateV1', {}, '0x1')
  t.strictSame(await ask(block('0x1', '0x7'), block('0x2', '0x7')), {
    ok: true,
    value: [{ calls: [{ status: '0x1', returnData: '0x7', gasUsed: '0x5' }] }],
  })
  t.match(await ask(block('0x1', '0x7'), block('0x1', '0x8')), { error: { reason: 'no_quorum' } })
  t.match(
    await ask(block('0x1', '0x7'), new Refusal('the method eth_simulateV1 does not exist')),
    { ok: false, error: { kind: 'answer' } },
    'with nodes that lack it, it counts as lacking',
  )
})

t.test('fields of a header that no vote is about are those that hash, or those of a quorum', async (t) => {
  const header = { number: '0x64', hash: HASH, parentHash: HASH, timestamp: '0x1', gasLimit: '0x5' }
  const lie = { ...header, gasLimit: '0x6', requestsHash: HASH }
  const { ask } = readsOf([always(lie), always(header), always(header)])
  t.strictSame(await ask('eth_getBlockByNumber', '0x64', false), {
    ok: true,
    value: { number: '0x64', hash: HASH, parentHash: HASH, timestamp: '0x1' },
  })
})
