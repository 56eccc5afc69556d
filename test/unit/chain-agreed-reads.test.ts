/** Reads that decide: pinned to the block of a quorum, cut to what is read, and the middle one where honest nodes differ. */
import t from 'tap'
import { createAgreedHead, createAgreedReads } from '../../src/chain/agreed-reads.ts'
import { headerHash } from '../../src/chain/block-proof.ts'
import type { RpcReader, RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'
import { classifyCallFailure } from '../../src/chain/rpc-errors.ts'
import { Unavailable } from '../../src/core/errors.ts'

const HASH = `0x${'11'.repeat(32)}`

type Answer = (request: RpcRequest) => unknown

class Refusal {
  readonly error: Extract<RpcResult, { readonly ok: false }>['error']
  constructor(message: string, data?: unknown) {
    this.error = { kind: 'answer', code: -32000, message, ...(data === undefined ? {} : { data }) }
  }
}

const SILENCE: RpcResult = { ok: false, error: { kind: 'unavailable', reason: 'timeout', message: 'no answer' } }

function nodeOf(answer: Answer) {
  const asked: RpcRequest[] = []
  const batch: RpcReader['batch'] = async (requests) => {
    asked.push(...requests)
    return requests.map((request): RpcResult => {
      const value = answer(request)
      if (value === undefined) return SILENCE
      return value instanceof Refusal ? { ok: false, error: value.error } : { ok: true, value }
    })
  }
  return { asked, batch }
}

function readsOf(answers: readonly Answer[], { needed = 2, head = 100 } = {}) {
  const heads = { asked: 0, now: 0, head }
  const nodes = answers.map(nodeOf)
  const newest = async () => {
    heads.asked += 1
    if (heads.head < 0) throw new Unavailable('no_quorum', '1 of 3 nodes answers')
    return { number: heads.head, hash: HASH }
  }
  const quorum = { needed, nodes: nodes.length }
  const plain = nodes[0] ?? nodeOf(() => null)
  const reads = createAgreedReads(
    { nodes: () => nodes, quorum },
    plain,
    createAgreedHead({ newest }, () => heads.now),
  )
  const ask = async (method: string, ...params: readonly unknown[]) => (await reads.batch([{ method, params }]))[0]
  return { nodes, heads, reads, plain, ask }
}

const always = (value: unknown) => () => value

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
  t.match([number, code, past], [unanswered, unanswered, { ok: true, value: '0x1' }])
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
  t.match(await ask(history('0x7', '0x3'), history('0x1b58', '0xbb8'), history('0x7', '0x4')), {
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

t.test('who answers first decides nothing: names of fields in other letters are not the same', async (t) => {
  const receipt = { status: '0x1', blockHash: HASH, logs: [] }
  const lie = { sTATUS: '0x1', blockHASH: HASH, lOGS: [] }
  t.strictSame(await readsOf([always(lie), always(receipt), always(receipt)]).ask('eth_getTransactionReceipt', HASH), {
    ok: true,
    value: { blockHash: HASH, logs: [], status: '0x1' },
  })
  t.match(await readsOf([always(lie), always(receipt)]).ask('eth_getTransactionReceipt', HASH), {
    error: { reason: 'no_quorum' },
  })
})

t.test('numbers that are none count as the nothing that they are compared as', async (t) => {
  const { ask } = readsOf([always(JSON.parse('1e999')), always(null), always(null)])
  t.strictSame(await ask('eth_getTransactionReceipt', HASH), { ok: true, value: null })
})

/** With the hash of its fields. */
function headed() {
  const word = `0x${'00'.repeat(32)}`
  const fields = {
    ...{ parentHash: word, sha3Uncles: word, miner: `0x${'00'.repeat(20)}`, stateRoot: word, transactionsRoot: word },
    ...{ receiptsRoot: word, logsBloom: `0x${'00'.repeat(256)}`, difficulty: '0x0', number: '0x64', gasLimit: '0x1' },
    ...{ gasUsed: '0x0', timestamp: '0x1', extraData: '0x', mixHash: word, nonce: '0x0000000000000000' },
  }
  return { ...fields, hash: headerHash(fields) }
}

const TRANSACTIONS = [{ hash: `0x${'ab'.repeat(32)}`, nonce: '0x1' }]
const BLOCK = { number: '0x64', hash: `0x${'ab'.repeat(32)}`, parentHash: HASH, timestamp: '0x1' }

t.test(
  'a whole block has the transactions that a quorum shows, in whatever letters the first one writes',
  async (t) => {
    const block = { ...BLOCK, transactions: TRANSACTIONS }
    const shouted = {
      ...block,
      hash: `0x${'AB'.repeat(32)}`,
      transactions: [{ hash: `0x${'AB'.repeat(32)}`, nonce: '0x1' }],
    }
    const renamed = { ...BLOCK, transactionS: TRANSACTIONS }
    for (const first of [shouted, renamed])
      t.match(await readsOf([always(first), always(block), always(block)]).ask('eth_getBlockByNumber', '0x64', true), {
        ok: true,
        value: block,
      })
  },
)

t.test('a header that hashes does not bring the transactions of the one who shows it', async (t) => {
  const fields = headed()
  const block = { ...fields, transactions: TRANSACTIONS }
  const lie = { ...fields, transactions: [] }
  t.match(await readsOf([always(lie), always(block), always(block)]).ask('eth_getBlockByNumber', '0x64', true), {
    ok: true,
    value: { transactions: TRANSACTIONS },
  })
})

t.test('a hash in capital letters keeps no header from being read', async (t) => {
  const shouted = { ...BLOCK, hash: `0x${'AB'.repeat(32)}` }
  const { ask } = readsOf([always(shouted), always(BLOCK), always(BLOCK)])
  t.match(await ask('eth_getBlockByNumber', '0x64', false), { ok: true, value: BLOCK })
})

t.test('an answer that is nested deeper than the stack is no vote', async (t) => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  for (const method of ['eth_getBalance', 'debug_traceTransaction', 'eth_getBlockByNumber'])
    t.match(await readsOf([always(deep), always('0x1'), always('0x1')]).ask(method, HASH, true), { ok: true })
})

t.test('the words of a refusal are those of a quorum, or plain ones: the first one does not choose them', async (t) => {
  const empty = (text: string) => () => new Refusal(text, '0x')
  const lie = empty('execution reverted: send 5 ETH to 0xbad to unlock your wallet')
  const honest = empty('execution reverted')
  const ask = (...answers: readonly Answer[]) => readsOf(answers).ask('eth_call', {}, '0x1')
  for (const answers of [
    [lie, honest, honest],
    [honest, lie, honest],
  ])
    t.match(await ask(...answers), { error: { message: /^execution reverted$/ } })
  t.match(await ask(lie, lie, honest), { error: { message: /unlock/ } }, 'most of them may write what they like')
  const data = () => new Refusal('execution reverted', '0x08c379a0')
  const gas = () => new Refusal('out of gas', '0x08c379a0')
  t.match(await ask(gas, data, data), { error: { message: 'execution reverted', data: '0x08c379a0' } })
  for (const [said, plain] of [
    ['insufficient funds for gas * price + value: balance 1', 'insufficient_funds'],
    ['out of gas: one', 'reverted'],
    ['missing trie node', 'missing_state'],
    ['the method x does not exist/is not available', 'unsupported'],
    ['something of its own', 'unknown'],
  ] as const) {
    const answer = await ask(
      () => new Refusal(said),
      () => new Refusal(`${said}, or so`),
    )
    t.notMatch(answer, { error: { message: said } })
    t.equal(answer?.ok === false && classifyCallFailure(answer.error).type, plain, said)
  }
})
