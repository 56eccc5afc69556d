/** Events are permanent: everything ever written is read in each of its versions, with the same meaning. */
import t from 'tap'
import { canonicalData, canonicalJson } from '../../src/core/canonical-json.ts'
import { upcast } from '../../src/event-log/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { transactionDecider } from '../../src/transactions/decider.ts'
import { keptLogs } from '../../src/transactions/observe-blocks.ts'
import { readInclusion, readIntent, readSigning } from '../../src/transactions/read-events.ts'
import { givenOf } from '../support/given.ts'
import { golden } from '../support/golden-transaction.ts'
import { stored } from '../support/stored.ts'

const requested = golden<Extract<TransactionEvent, { type: 'TransferRequested' }>>('TransferRequested')
const signed = golden<Extract<TransactionEvent, { type: 'TransactionSigned' }>>('TransactionSigned')
const submitted = golden<Extract<TransactionEvent, { type: 'TransactionSubmitted' }>>('TransactionSubmitted')
const mined = golden<Extract<TransactionEvent, { type: 'TransactionMined' }>>('TransactionMined')
const replaced = golden<Extract<TransactionEvent, { type: 'TransactionReplaced' }>>('TransactionReplaced')

const given = givenOf(transactionDecider)

const RESERVED = {
  ...{ counter: 'one', unit: 'ETH', decimals: 18, bucket: '2026-11-21T12:00:00.000Z', windowSeconds: 3_600 },
  ...{ limit: '9', amount: '7', kept: '0' },
}

t.test('every event of a transaction that was ever written is still read, in each of its versions', async (test) => {
  for (const [name, { version: newest }] of Object.entries(transactionAggregate.schemas)) {
    const type = name as TransactionEvent['type']
    for (let version = 1; version <= newest; version += 1) {
      const event = golden(type, version)
      test.equal(event.type, type)
      test.doesNotThrow(() => given(requested, signed, submitted, event))
    }
  }
})

t.test('a transfer that was recorded before there were calls reads as one without a call', async (test) => {
  test.strictSame(golden('TransferRequested', 1).data, golden('TransferRequested', 2).data)
})

t.test('amounts are bigint in events and states, and stored with the same digits', async (test) => {
  const max = 2n ** 256n - 1n
  const reservation = { ...RESERVED, limit: max, amount: 7n, kept: 0n }
  const { asset } = requested.data
  const more = { outflows: [{ asset, amount: max }], reservations: [reservation] }
  const intents = [requested.data, { ...requested.data, amount: max, ...more }, { ...requested.data, quote: null }]
  for (const data of intents) test.strictSame(readIntent(stored(data)), data)
  const { amount, reservations } = stored({ ...requested.data, amount: max, ...more })
  test.equal(amount, `${max}`)
  test.strictSame(reservations, [{ ...RESERVED, limit: `${max}`, amount: '7', kept: '0' }])
  for (const { data } of [signed, replaced]) {
    test.equal(typeof data.fees.gasLimit, 'bigint')
    test.strictSame(readSigning(stored(data)), data)
  }
  for (const data of [mined.data, { ...mined.data, moved: null }, { ...mined.data, moved: 5n }]) {
    test.strictSame(readInclusion(stored(data)), data)
  }
  const { state } = given(requested, signed, mined)
  const { gasUsed } = mined.data
  test.match(state, { intent: { amount: requested.data.amount }, inclusion: { gasUsed } })
})

const OTHER_DIGITS = [
  '',
  '-1',
  '+1',
  '01',
  '00',
  ' 1',
  '1 ',
  '1\n',
  '1.0',
  '1e3',
  '0x10',
  '0b1',
  '1_000',
  '1n',
  '١',
  'NaN',
]

t.test('an amount that no append writes is not read, whatever BigInt makes of it', async (test) => {
  const data = { ...stored(requested.data), reservations: [RESERVED] }
  const fees = stored(signed.data.fees)
  for (const bad of [...OTHER_DIGITS, 1, -1, 0, 1n, true, null, undefined, ['1'], { toString: () => '1' }] as never[]) {
    for (const forged of [
      { ...data, amount: bad },
      { ...data, reserved: { ...data.reserved, gasLimit: bad } },
      { ...data, reserved: { ...data.reserved, newAccountGas: bad ?? '' } },
      { ...data, quote: { ...data.quote, baseFeePerGas: bad } as never },
      { ...data, outflows: [{ asset: data.asset, amount: bad }] },
      ...['limit', 'amount', 'kept'].map((name) => ({
        ...data,
        reservations: [{ ...RESERVED, [name]: bad }] as never,
      })),
    ])
      test.throws(() => upcast(transactionAggregate.schemas, 'TransferRequested', 3, forged))
    for (const name of ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'])
      test.throws(() => readSigning({ ...stored(signed.data), fees: { ...fees, [name]: bad } }))
    for (const name of ['gasUsed', 'effectiveGasPrice'])
      test.throws(() => readInclusion({ ...stored(mined.data), [name]: bad }))
    if (bad !== null && bad !== undefined) test.throws(() => readInclusion({ ...stored(mined.data), moved: bad }))
  }
  for (const digits of ['0', '1', '9', '10', '90', `${2n ** 256n}`])
    test.equal(readIntent({ ...data, amount: digits }).amount, BigInt(digits))
})

t.test('an amount below 0 is not written: it could not be read', async (test) => {
  test.throws(() => stored({ ...requested.data, amount: -1n }), TypeError)
  test.throws(() => canonicalJson({ amount: 1n }), TypeError, 'only event data has amounts')
})

t.test('event data keeps every key of a value, also one that names its prototype', async (test) => {
  const value = { args: [{ name: 1n }, null], ...JSON.parse('{"__proto__": {"admin": true}}') }
  test.equal(canonicalData(value), '{"__proto__":{"admin":true},"args":[{"name":"1"},null]}')
})

t.test('the basis of fees is recorded with them, and is unknown in older events', async (test) => {
  const quote = { baseFeePerGas: 7n, maxFeePerGas: 20n, maxPriorityFeePerGas: 6n }
  const bytes = signed.data
  const signing = { type: 'RecordSignature', signed: bytes, quote } as const
  given(requested)
    .when(signing)
    .expect(test, { type: 'TransactionSigned', data: { ...signed.data, quote: quote } })
  const replacing = {
    type: 'RecordReplacement',
    signed: { ...bytes, hash: '0x2' },
    purpose: 'bump',
    quote,
  } as const
  const replacement = {
    ...signed.data,
    hash: '0x2',
    purpose: 'bump',
    replacedHash: signed.data.hash,
    quote: quote,
  }
  given(requested, signed).when(replacing).expect(test, { type: 'TransactionReplaced', data: replacement })
  const before = [golden('TransferRequested', 2), golden('TransactionSigned', 1), golden('TransactionReplaced', 1)]
  for (const { data } of before) test.match(data, { quote: null })
  const { state } = given(requested, signed, replaced)
  const attempts = 'attempts' in state ? state.attempts : []
  test.equal(attempts.length, 2)
  for (const attempt of attempts) test.notMatch(attempt, { quote: {} }, 'the state does not keep the quote')
})

t.test(
  'the logs of a transaction are those of its block: a reorg removes them, the next block has its own',
  async (test) => {
    const mined = golden<Extract<TransactionEvent, { type: 'TransactionMined' }>>('TransactionMined')
    const rowOf = (events: readonly TransactionEvent[]) => {
      const context = { id: 'tx_1', tenantId: 'acme', version: events.length, recordedAt: '' }
      return transactionAggregate.project({ state: 'unknown' }, given(...events).state, context).rows[0]?.row
    }
    const before = [requested, signed, submitted]
    test.match(rowOf(before), { logs: null })
    test.match(rowOf([...before, golden('TransactionMined', 1)]), { logs: null }, 'older events have none')
    test.strictSame(rowOf([...before, mined])?.logs, mined.data.logs)
    const reorged = golden('TransactionReorged')
    test.match(rowOf([...before, mined, reorged]), { logs: null })
    const again = { ...mined, data: { ...mined.data, logs: { entries: [], cut: true } } }
    test.strictSame(rowOf([...before, mined, reorged, again])?.logs, { entries: [], cut: true })
  },
)

t.test(
  'the first logs of a receipt are kept, up to 64 of them and 32 KiB, and the rest is marked as cut',
  async (test) => {
    const logs = (count: number, bytes = 32) =>
      Array.from({ length: count }, (_, logIndex) => ({
        address: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
        topics: [`0x${'0'.repeat(64)}`],
        data: `0x${'00'.repeat(bytes)}`,
        logIndex,
      }))
    test.strictSame(keptLogs([]), { entries: [], cut: false })
    test.strictSame(keptLogs(logs(64)), { entries: logs(64), cut: false })
    test.strictSame(keptLogs(logs(65)), { entries: logs(64), cut: true })
    test.strictSame(keptLogs(logs(2, 17_000)), { entries: [], cut: true })
    const large = keptLogs(logs(40, 1_000))
    test.strictSame(large, { entries: logs(large.entries.length, 1_000), cut: true })
    test.ok(JSON.stringify(large.entries).length < 33 * 1_024)
    test.ok(large.entries.length >= 14)
  },
)
