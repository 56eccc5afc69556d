/** Gas fees: quotes from history, replacements, and an oracle that survives a silent node. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createFeeOracle } from '../../src/chain/fee-oracle.ts'
import {
  bumpFees,
  type FeeHistory,
  type FeePolicy,
  type FeeQuote,
  quoteFees,
  readFeeHistory,
  TAG_ROOM_WEI,
} from '../../src/chain/fees.ts'
import type { RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'

const GWEI = 10n ** 9n
const POLICY: FeePolicy = { minTipWei: GWEI / 10n, maxTipWei: 20n * GWEI, maxFeePerGasWei: 500n * GWEI }

function quoted(history: FeeHistory, policy = POLICY): FeeQuote {
  const result = quoteFees(history, policy)
  assert.equal(result.type, 'quoted')
  return result.quote
}

/** A result of eth_feeHistory in geth's format. */
function history(baseFees: readonly string[], reward: readonly (readonly string[])[], gasUsedRatio: readonly number[]) {
  return { oldestBlock: '0x1', baseFeePerGas: baseFees, gasUsedRatio, reward }
}

t.test(
  'each priority offers the middle of its percentile over the blocks, above twice the base fee, with room for a tag',
  async (t) => {
    const rows = [
      ['0x3b9aca00', '0x77359400', '0xb2d05e00'],
      ['0x3b9aca00', '0x77359400', '0x12a05f200'],
      ['0x0', '0x0', '0x0'],
      ['0x77359400', '0xb2d05e00', '0x174876e800'],
    ]
    const read = readFeeHistory(history(['0x7', '0x7', '0x7', '0x7', '0x4a817c800'], rows, [0.5, 1, 0, 0.1]))
    t.equal(read.baseFeePerGas, 20n * GWEI, 'the base fee is that of the next block')
    t.equal(read.tips.length, 3, 'an empty block adds no tips')
    t.strictSame(quoted(read), {
      baseFeePerGas: 20n * GWEI,
      low: { maxFeePerGas: 41n * GWEI + TAG_ROOM_WEI, maxPriorityFeePerGas: GWEI },
      medium: { maxFeePerGas: 42n * GWEI + TAG_ROOM_WEI, maxPriorityFeePerGas: 2n * GWEI },
      high: { maxFeePerGas: 45n * GWEI + TAG_ROOM_WEI, maxPriorityFeePerGas: 5n * GWEI },
    })
  },
)

t.test('a chain of empty blocks, or with base fee 0, is quoted at the floor', async (t) => {
  const empty = readFeeHistory(history(['0x0', '0x0'], [['0x0', '0x0', '0x0']], [0]))
  const floor = { maxFeePerGas: POLICY.minTipWei + TAG_ROOM_WEI, maxPriorityFeePerGas: POLICY.minTipWei }
  t.strictSame(quoted(empty), { baseFeePerGas: 0n, low: floor, medium: floor, high: floor })
  t.strictSame(quoted(readFeeHistory({ baseFeePerGas: ['0x0'] })).high, floor, 'no rewards: the quote is the floor')
})

t.test('no tip is above its own cap, whatever nodes say that others paid', async (t) => {
  const said = history(['0x7', '0x3b9aca00'], [['0x1', '0x4a817c801', '0xffffffffffffffff']], [1])
  const { low, medium, high } = quoted(readFeeHistory(said))
  t.equal(low.maxPriorityFeePerGas, POLICY.minTipWei)
  for (const { maxFeePerGas, maxPriorityFeePerGas } of [medium, high]) {
    t.equal(maxPriorityFeePerGas, 20n * GWEI)
    t.equal(maxFeePerGas, 22n * GWEI + TAG_ROOM_WEI, 'a plain transfer costs at most 0.00047 of the currency')
  }
})

t.test('a malformed history is an error of the node, not a fee of zero', async (t) => {
  for (const answer of [null, {}, { baseFeePerGas: [] }, { baseFeePerGas: [7] }, { baseFeePerGas: ['0x'] }]) {
    t.throws(() => readFeeHistory(answer), { code: 'rpc_unavailable' })
  }
})

const wei = fc.bigInt({ min: 0n, max: 10n ** 13n })
const histories = fc.record({ baseFeePerGas: wei, tips: fc.array(fc.tuple(wei, wei, wei), { maxLength: 20 }) })
const policies = fc.record({ minTipWei: wei, maxTipWei: wei, maxFeePerGasWei: wei })

t.test('no quote exceeds the cap, goes below the floor, or orders the priorities wrongly', async (t) => {
  const property = fc.property(histories, policies, (past, policy) => {
    const result = quoteFees(past, policy)
    const needed = past.baseFeePerGas + policy.minTipWei
    assert.equal(result.type, needed > policy.maxFeePerGasWei ? 'fee_cap_exceeded' : 'quoted')
    if (result.type === 'fee_cap_exceeded') return assert.equal(result.neededWei, needed)
    const { low, medium, high } = result.quote
    for (const fees of [low, medium, high]) {
      assert.ok(fees.maxFeePerGas <= policy.maxFeePerGasWei)
      assert.ok(fees.maxPriorityFeePerGas >= policy.minTipWei)
      assert.ok([policy.maxTipWei, policy.minTipWei].some((most) => fees.maxPriorityFeePerGas <= most))
      assert.ok(
        fees.maxFeePerGas >= past.baseFeePerGas + fees.maxPriorityFeePerGas,
        'the limit covers base fee and tip',
      )
    }
    assert.ok(low.maxPriorityFeePerGas <= medium.maxPriorityFeePerGas)
    assert.ok(medium.maxPriorityFeePerGas <= high.maxPriorityFeePerGas)
  })
  fc.assert(property)
  t.pass()
})

t.test('a replacement pays 12.5 % more in both fields and what the network asks now, or is not made', async (t) => {
  const previous = { maxFeePerGas: 100n, maxPriorityFeePerGas: 9n }
  t.strictSame(bumpFees(previous, { maxFeePerGas: 50n, maxPriorityFeePerGas: 1n }, 1_000n), {
    maxFeePerGas: 113n,
    maxPriorityFeePerGas: 11n,
  })
  t.strictSame(bumpFees(previous, { maxFeePerGas: 500n, maxPriorityFeePerGas: 20n }, 1_000n), {
    maxFeePerGas: 500n,
    maxPriorityFeePerGas: 20n,
  })
  t.equal(bumpFees(previous, { maxFeePerGas: 50n, maxPriorityFeePerGas: 1n }, 112n), null)
  const fees = fc.record({ maxFeePerGas: wei, maxPriorityFeePerGas: wei })
  const property = fc.property(fees, fees, wei, (before, quote, cap) => {
    const bumped = bumpFees(before, quote, cap)
    if (bumped === null) return assert.ok((bumpFees(before, quote, 2n ** 200n)?.maxFeePerGas ?? 0n) > cap)
    for (const field of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
      assert.ok(bumped[field] * 8n >= before[field] * 9n && bumped[field] > before[field])
      assert.ok(bumped[field] >= quote[field])
    }
    assert.ok(bumped.maxFeePerGas <= cap && bumped.maxPriorityFeePerGas <= bumped.maxFeePerGas)
  })
  fc.assert(property)
})

/** An oracle with a node that a test can silence; `asked` counts the reads of history. */
function oracle(baseFee: () => string | RpcResult, gasPrice = '0x5', policy = POLICY) {
  const node = { now: 0, asked: 0 }
  const answer = ({ method }: RpcRequest): RpcResult => {
    if (method === 'eth_gasPrice') return { ok: true, value: gasPrice }
    node.asked += 1
    const given = baseFee()
    return typeof given === 'string'
      ? { ok: true, value: history(['0x1', given], [['0x1', '0x2', '0x3']], [1]) }
      : given
  }
  const client = { batch: async (requests: readonly RpcRequest[]) => requests.map(answer) }
  const fees = createFeeOracle({ client, policy, now: () => node.now, refreshMs: 10, maxStaleMs: 100 })
  return { node, fees }
}

t.test('the oracle makes one request per interval, however many callers there are', async (t) => {
  let baseFee = '0x64'
  const { node, fees } = oracle(() => baseFee)
  const quotes = await Promise.all(Array.from({ length: 20 }, () => fees.quote()))
  t.equal(node.asked, 1)
  t.ok(quotes.every((quote) => quote.baseFeePerGas === 100n))
  baseFee = '0xc8'
  node.now = 9
  t.equal((await fees.quote()).baseFeePerGas, 100n)
  node.now = 10
  t.equal((await fees.quote()).baseFeePerGas, 200n)
  t.equal(node.asked, 2)
})

t.test('the oracle serves the last quote while no node answers, for a bounded time', async (t) => {
  const silence: RpcResult = { ok: false, error: { kind: 'unavailable', reason: 'network', message: 'ECONNREFUSED' } }
  let given: string | RpcResult = silence
  const { node, fees } = oracle(() => given)
  await t.rejects(fees.quote(), { code: 'rpc_unavailable' }, 'without an earlier quote the oracle throws')
  given = '0x64'
  t.equal((await fees.quote()).baseFeePerGas, 100n)
  given = silence
  node.now = 99
  t.equal((await fees.quote()).baseFeePerGas, 100n)
  node.now = 100
  await t.rejects(fees.quote(), { code: 'rpc_unavailable', retryable: true })
  given = '0xc8'
  t.equal((await fees.quote()).baseFeePerGas, 200n, 'the oracle serves new quotes once the node answers again')
})

t.test('while too few nodes answer, the oracle serves the last agreed quote for an hour', async (t) => {
  let given: string | RpcResult = '0x64'
  const { node, fees } = oracle(() => given)
  await fees.quote()
  given = { ok: false, error: { kind: 'unavailable', reason: 'no_quorum', message: '1 of 2 nodes answers' } }
  node.now = 3_599_999
  t.equal((await fees.quote()).baseFeePerGas, 100n)
  node.now = 3_600_000
  await t.rejects(fees.quote(), { code: 'no_quorum', retryable: true })
})

t.test('a node that refuses to return its fees is treated as unavailable', async (t) => {
  const refusal: RpcResult = { ok: false, error: { kind: 'answer', code: -32602, message: 'invalid digit' } }
  let given: string | RpcResult = refusal
  const { node, fees } = oracle(() => given)
  await t.rejects(fees.quote(), { code: 'rpc_unavailable', retryable: true, message: /invalid digit/ })
  given = '0x64'
  t.equal((await fees.quote()).baseFeePerGas, 100n)
  given = refusal
  node.now = 99
  t.equal((await fees.quote()).baseFeePerGas, 100n)
})

t.test('a network above the cap is reported as such, and an old quote does not hide it', async (t) => {
  let given = '0x64'
  const { node, fees } = oracle(() => given)
  await fees.quote()
  given = `0x${(600n * GWEI).toString(16)}`
  node.now = 50
  await t.rejects(fees.quote(), { code: 'fee_cap_exceeded', retryable: true })
  given = '0xc8'
  t.equal((await fees.quote()).baseFeePerGas, 200n)
})

t.test('a chain without fee history is quoted by its gas price', async (t) => {
  const missing: RpcResult = { ok: false, error: { kind: 'answer', code: -32601, message: 'method not found' } }
  for (const given of [
    missing,
    { ok: true, value: null } as const,
    { ok: true, value: { oldestBlock: '0x1' } } as const,
  ]) {
    const { fees } = oracle(() => given, '0x12a05f200')
    t.hasStrict(await fees.quote(), {
      baseFeePerGas: 0n,
      low: { maxFeePerGas: 5n * GWEI + TAG_ROOM_WEI, maxPriorityFeePerGas: 5n * GWEI },
    })
  }
})
