/** What code moved in a block is read alike from both kinds of traces, and from nothing that does not fit the block. */
import fc from 'fast-check'
import t from 'tap'
import { movesIn, type TracedMove } from '../../src/chain/block-trace.ts'
import type { Block, BlockTransaction } from '../../src/chain/blocks.ts'
import { tracedByCallTracer } from '../../src/chain/call-tracer-frames.ts'
import { tracedFlat } from '../../src/chain/flat-frames.ts'

const addressOf = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const hex = (n: bigint) => `0x${n.toString(16)}`

type Kind = 'CALL' | 'CREATE' | 'SELFDESTRUCT' | 'DELEGATECALL' | 'STATICCALL' | 'CALLCODE'
type Call = { kind: Kind; from: string; to: string; value: bigint; fails: boolean; calls: Call[] }

const callAt: (depth: number) => fc.Arbitrary<Call> = fc.memo((depth) =>
  fc.record({
    kind: fc.constantFrom<Kind>('CALL', 'CALL', 'CREATE', 'SELFDESTRUCT', 'DELEGATECALL', 'STATICCALL', 'CALLCODE'),
    from: fc.integer({ min: 1, max: 5 }).map(addressOf),
    to: fc.integer({ min: 1, max: 5 }).map(addressOf),
    value: fc.bigInt({ min: 0n, max: 3n }),
    fails: fc.constantFrom(false, false, true),
    calls: depth > 1 ? fc.array(callAt(depth - 1), { maxLength: 3 }) : fc.constant([]),
  }),
)
const root = callAt(4).map((call): Call => ({ ...call, kind: call.kind === 'CREATE' ? 'CREATE' : 'CALL' }))

/** By recursion, apart from the code. */
function expected(call: Call, hash: string, isRoot = true): TracedMove[] {
  if (call.fails) return []
  const moves = { CALL: !isRoot, CREATE: true, SELFDESTRUCT: true, DELEGATECALL: false, STATICCALL: false }
  const isMove = call.kind !== 'CALLCODE' && moves[call.kind] && call.value > 0n && call.from !== call.to
  const own = isMove ? [{ hash, from: call.from, to: call.to, amount: call.value }] : []
  return [...own, ...call.calls.flatMap((one) => expected(one, hash, false))]
}

function sent(call: Call, n: number): BlockTransaction {
  return {
    ...{ hash: hashOf(n), from: call.from, to: call.kind === 'CREATE' ? null : call.to, nonce: 0, value: call.value },
    ...{ input: '0x', status: call.fails ? 'reverted' : 'success', gasUsed: 1n, effectiveGasPrice: 1n, offer: null },
    ...{ logs: [], authorizations: [], hasBlobs: false },
  } as BlockTransaction
}
function blockOf(calls: readonly Call[]): Block {
  const place = { number: 9, hash: hashOf(900), parentHash: hashOf(899), timestamp: 1, baseFeePerGas: 1n, income: null }
  return { ...place, transactions: calls.map(sent) }
}

function asCallTracer({ kind, from, to, value, fails, calls }: Call): Record<string, unknown> {
  return {
    ...{ type: kind, from, gas: '0x1', gasUsed: '0x1', input: '0x' },
    ...(kind === 'CREATE' && fails ? {} : { to }),
    ...(kind === 'STATICCALL' ? {} : { value: hex(value) }),
    ...(fails ? { error: 'execution reverted' } : {}),
    ...(calls.length === 0 ? {} : { calls: calls.map(asCallTracer) }),
  }
}
const byTracer = (calls: readonly Call[], isNamed = true) =>
  calls.map((call, n) => ({ ...(isNamed ? { txHash: hashOf(n) } : {}), result: asCallTracer(call) }))

function asFlat(call: Call, hash: string, traceAddress: readonly number[] = []): Record<string, unknown>[] {
  const { kind, from, to, value, fails, calls } = call
  const place = {
    transactionHash: hash,
    traceAddress,
    subtraces: calls.length,
    ...(fails ? { error: 'Reverted' } : {}),
  }
  const sides = { from, value: hex(value) }
  const own =
    kind === 'SELFDESTRUCT'
      ? { type: 'suicide', action: { address: from, refundAddress: to, balance: hex(value) } }
      : kind === 'CREATE'
        ? { type: 'create', action: sides, result: fails ? null : { address: to } }
        : { type: 'call', action: { ...sides, to, callType: kind.toLowerCase() } }
  return [{ ...own, ...place }, ...calls.flatMap((one, i) => asFlat(one, hash, [...traceAddress, i]))]
}
const flat = (calls: readonly Call[]) => calls.flatMap((call, n) => asFlat(call, hashOf(n)))

t.test('both kinds of traces say the same, and count no failed call and nothing that moves nothing', (t) => {
  fc.assert(
    fc.property(fc.array(root, { maxLength: 4 }), (calls) => {
      const block = blockOf(calls)
      const moves = calls.flatMap((call, n) => expected(call, hashOf(n)))
      t.strictSame(movesIn(block, tracedByCallTracer(byTracer(calls))), moves)
      t.strictSame(movesIn(block, tracedByCallTracer(byTracer(calls, false))), moves, 'without hashes')
      const reward = { type: 'reward', action: { author: addressOf(1), value: '0x1' } }
      t.strictSame(movesIn(block, tracedFlat([...flat(calls), reward])), moves)
    }),
  )
  t.end()
})

const plain: Call = { kind: 'CALL', from: addressOf(1), to: addressOf(2), value: 5n, fails: false, calls: [] }
const paying: Call = { ...plain, calls: [{ ...plain, from: addressOf(2), to: addressOf(3) }] }

t.test('a trace that does not fit the block is refused as a whole', (t) => {
  const block = blockOf([paying, plain])
  const [first, second] = byTracer([paying, plain])
  const refused = (value: unknown) => t.throws(() => movesIn(block, tracedByCallTracer(value)))
  refused([first])
  refused([first, first])
  refused([first, second, { ...second, txHash: hashOf(7) }])
  refused([first, { txHash: hashOf(1), error: 'execution timeout' }])
  for (const other of [
    { value: 6n },
    { to: addressOf(4) },
    { from: addressOf(4) },
    { fails: true },
    { kind: 'CREATE' as const },
  ])
    refused(byTracer([{ ...paying, ...other }, plain]))
  for (const other of [{ from: 'nobody' }, { to: null }, { value: '5' }, { type: 'JUMP' }, { calls: [null] }])
    refused([{ ...first, result: { ...first?.result, ...other } }, second])
  refused({})
  refused('0x')
  t.end()
})

t.test('a flat list is refused unless it has the order of the calls', (t) => {
  const deep: Call = { ...paying, calls: [{ ...paying, fails: true, calls: [plain, plain] }, plain] }
  const list = flat([deep])
  const block = blockOf([deep])
  t.ok(movesIn(block, tracedFlat(list)))
  for (let i = 0; i < list.length; i++) t.throws(() => movesIn(block, tracedFlat(list.toSpliced(i, 1))), `without ${i}`)
  t.throws(() => movesIn(block, tracedFlat(list.toReversed())))
  t.throws(() => movesIn(block, tracedFlat([...list, list.at(-1)])))
  t.throws(() => tracedFlat([{ ...list[0], traceAddress: [0.5] }]))
  t.throws(() => tracedFlat([{ ...list[0], traceAddress: 'none' }]))
  t.throws(() => tracedFlat([{ ...list[0], type: 'jump' }]))
  t.end()
})

t.test('a trace that is deeper than a transaction can be is refused, and does not end the process', (t) => {
  let nested = asCallTracer(plain)
  for (let i = 0; i < 50_000; i++) nested = { ...asCallTracer(plain), calls: [nested] }
  t.throws(
    () => movesIn(blockOf([plain]), tracedByCallTracer([{ txHash: hashOf(0), result: nested }])),
    /more than a block/,
  )
  t.end()
})
