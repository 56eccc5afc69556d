/** What several nodes say together: a minority decides nothing, and silence is not agreement. */
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { agreedBlock, agreeing } from '../../src/chain/agreement.ts'
import { type RpcReader, type RpcResult, rpcCall } from '../../src/chain/json-rpc.ts'

const SILENT: RpcResult = { ok: false, error: { kind: 'unavailable', reason: 'timeout', message: 'no answer' } }

function saying(value: unknown): RpcReader {
  return { batch: async (requests) => requests.map(() => ({ ok: true, value })) }
}
const silent: RpcReader = { batch: async (requests) => requests.map(() => SILENT) }
const stuck: RpcReader = { batch: () => new Promise(() => undefined) }

const hashOf = (number: number, fork = 0): string => `0x${(1000 * fork + number).toString(16).padStart(64, '0')}`

/** A node that follows fork 0 up to a height and its own one above. */
function nodeAt(head: number, { fork = 0, from = head + 1 } = {}): RpcReader {
  const hash = (number: number) => hashOf(number, number >= from ? fork : 0)
  const block = (number: number) =>
    number > head ? null : { number: `0x${number.toString(16)}`, hash: hash(number), parentHash: hash(number - 1) }
  return {
    batch: async (requests) =>
      requests.map(({ params }) => ({ ok: true, value: block(params[0] === 'latest' ? head : Number(params[0])) })),
  }
}

const ask = (nodes: readonly RpcReader[], needed: number) =>
  rpcCall(
    agreeing(() => nodes, needed),
    'eth_getBalance',
    [],
  )
const newest = (nodes: readonly RpcReader[], above = 0) => agreedBlock(nodes, 2, { tag: 'latest', above })

t.test('one of three that says something else decides nothing, in every place', async (t) => {
  for (const place of [0, 1, 2]) {
    const nodes = [0, 1, 2].map((i) => saying(i === place ? '0xbad' : '0x1'))
    t.equal(await ask(nodes, 2), '0x1')
  }
})

t.test('as many nodes are asked as are needed, the others only about what is open', async (t) => {
  let asked = 0
  const third: RpcReader = {
    async batch(requests) {
      asked += requests.length
      return requests.map(() => SILENT)
    },
  }
  t.equal(await ask([saying('0xA1'), saying('0xa1'), third], 2), '0xA1', 'the case of hex does not count')
  t.equal(asked, 0)
  await t.rejects(ask([saying('0x1'), saying('0x2'), third], 2), { code: 'no_quorum' })
  t.equal(asked, 1)
})

t.test('one silent node of two means that nothing is agreed, and the message says what is missing', async (t) => {
  await t.rejects(ask([saying('0x1'), silent], 2), /1 of 2 nodes answers, and 2 are needed/)
  await t.rejects(ask([silent, silent], 2), /no answer/, 'the reason of the nodes, when none answers')
})

t.test('a node that keeps a request open is not waited for', async (t) => {
  t.equal(await ask([stuck, saying('0x1'), saying('0x1')], 2), '0x1')
})

t.test('a head that the others do not reach is none', async (t) => {
  t.match(await newest([nodeAt(1_100, { fork: 1, from: 90 }), nodeAt(100), nodeAt(99)]), {
    number: 99,
    hash: hashOf(99),
  })
  t.match(await newest([nodeAt(1_100), nodeAt(100), nodeAt(100)]), { number: 100, hash: hashOf(100) })
})

t.test('a node that names a low head delays nothing', async (t) => {
  t.match(await newest([nodeAt(3), nodeAt(100), nodeAt(100)], 50), { number: 100 })
})

t.test('of nodes on different forks, the last common block is the newest', async (t) => {
  const forked = [nodeAt(100, { fork: 1, from: 97 }), nodeAt(101, { fork: 2, from: 97 }), silent]
  t.match(await newest(forked), { number: 96, hash: hashOf(96) })
})

t.test('a block that fewer than the quorum name is none', async (t) => {
  await t.rejects(newest([nodeAt(100), silent, silent]), { code: 'no_quorum', message: /1 of 3 nodes answers/ })
})

t.test('a node that names a higher head and then keeps back its headers delays nothing', async (t) => {
  const { batch } = nodeAt(105)
  const slow: RpcReader = {
    batch: (requests) => (requests[0]?.params[0] === 'latest' ? batch(requests) : new Promise(() => undefined)),
  }
  const within = (nodes: readonly RpcReader[], needed: number) =>
    Promise.race([agreedBlock(nodes, needed, { tag: 'latest', above: 0 }), setTimeout(3_000, 'late')])
  t.match(await within([slow, nodeAt(100), nodeAt(100)], 2), { number: 100 }, 'at the height of the others')
  t.match(await within([slow, nodeAt(100), nodeAt(103)], 2), { number: 100 }, 'where the others are apart')
  const forked = [slow, nodeAt(100, { fork: 1, from: 97 }), nodeAt(101, { fork: 2, from: 97 })]
  t.match(await within(forked, 2), { number: 96 }, 'where the others are on two forks')
})

t.test('a node that names an old head needs more than one that is slow: it is waited for', async (t) => {
  const { batch } = nodeAt(100)
  const slow: RpcReader = { batch: async (requests) => setTimeout(800).then(() => batch(requests)) }
  for (const above of [99, Number.POSITIVE_INFINITY])
    t.match(await newest([nodeAt(3), nodeAt(100), slow], above), { number: 100 })
})
