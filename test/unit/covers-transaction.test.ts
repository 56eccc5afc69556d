/** What the log covers of a transaction for a share holder: the one call, with the one nonce, or its cancellation. */
import t, { type Test } from 'tap'
import { encodeTransfer } from '../../src/chain/erc20.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { coversTransaction, type TransactionFacts } from '../../src/transactions/covers.ts'
import {
  cancellation,
  cancelling,
  consumed,
  FACTS,
  fold,
  golden,
  mined,
  NONCE,
  recordedAs,
  replaced,
  requested,
  signed,
  TRANSFER,
  tagged,
} from '../support/recorded-transactions.ts'

const { maxFeePerGasCap: CAP, now: NOW } = FACTS
const { from, to } = requested.data
const THIEF = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const mint = golden('MintRequested')
/** The maximum replacement of `replaced`, which offers 22.5 gwei: twice that, and what a tag adds. */
const DEAREST = { maxFeePerGas: 45_000_131_072n, maxPriorityFeePerGas: 45_000_131_072n }
const TAGGED = tagged(fold([requested]), TRANSFER)
const CANCELLATION: UnsignedTransaction = { ...TRANSFER, to: from, value: 0n }

function given(...events: readonly TransactionEvent[]) {
  const state = fold(events)
  return {
    when: (change: object = {}, facts: Partial<TransactionFacts> = {}, base = TRANSFER) => {
      const { address = from, ...fields } = change as { address?: string }
      const exact: UnsignedTransaction = { ...base, ...fields }
      const covers = (transaction: UnsignedTransaction) =>
        coversTransaction(recordedAs(state), { address, transaction }, { ...FACTS, ...facts })
      return {
        covered: (test: Test) => test.strictSame(covers(tagged(state, exact)), { covered: true }),
        refused(test: Test, rule: RegExp) {
          const coverage = covers(exact)
          test.match(coverage, { covered: false, rule }, JSON.stringify(coverage))
        },
      }
    },
  }
}

t.test('the recorded transfer is covered, signed again and with higher fees under its nonce', async (test) => {
  given(requested).when().covered(test)
  given(requested).when({ nonce: 0 }).covered(test)
  given(requested).when({ to: to.toLowerCase(), address: from.toLowerCase() }).covered(test)
  given(requested, signed).when().covered(test)
  given(requested, signed, replaced).when(DEAREST).covered(test)
})

t.test('nothing else than the recorded call is covered', async (test) => {
  const other: [change: object, rule: RegExp][] = [
    [{ to: THIEF }, /call/],
    [{ value: 10n ** 18n + 1n }, /call/],
    [{ value: 10n ** 18n - 1n }, /call/],
    [{ data: '0x00' }, /call/],
    [{ data: encodeTransfer(THIEF, 1n) }, /call/],
    [{ to: from, value: 0n }, /call/],
    [{ chainId: 137 }, /chain/],
    [{ address: THIEF }, /sender/],
  ]
  for (const events of [[requested], [requested, signed], [requested, signed, replaced]])
    for (const [change, rule] of other)
      given(...events)
        .when(change)
        .refused(test, rule)
})

t.test('a token transfer is covered only with the recipient, contract and call data of its intent', async (test) => {
  const asset = { assetId: `eip155:1/erc20:${TOKEN}`, symbol: 'USDC', decimals: 6, contract: TOKEN }
  const transfer: TransactionEvent = { ...requested, data: { ...requested.data, asset, amount: 5n } }
  const data = encodeTransfer(to, 5n)
  const call = { to: TOKEN, value: 0n, data, gasLimit: 60_000n }
  given(transfer).when(call).covered(test)
  given(transfer)
    .when({ ...call, data: `0x${data.slice(2).toUpperCase()}` })
    .covered(test)
  for (const change of [
    { to: THIEF },
    { to },
    { value: 1n },
    { data: encodeTransfer(THIEF, 5n) },
    { data: encodeTransfer(to, 6n) },
    { data: `${data}00` },
    { data: data.slice(0, -2) },
    { data: '0x' },
    { to, value: 5n, data: '0x' },
  ])
    given(transfer)
      .when({ ...call, ...change })
      .refused(test, /call/)
})

t.test('a mint and a contract call are covered only with the call data and value of their intent', async (test) => {
  for (const { type, data: intent } of [mint, golden('ContractCallRequested')]) {
    const opening = { type, data: { ...intent, dependsOn: null, validUntil: null } } as TransactionEvent
    const { from: address, chainId, to: contract } = intent
    const data = String(intent.data)
    const call = { address, chainId, to: contract, value: BigInt(intent.amount), data, gasLimit: 60_000n }
    given(opening).when(call).covered(test)
    const others = [`0x095ea7b3${data.slice(10)}`, `${data.slice(0, -1)}6`, data.slice(0, -2), `${data}00`, '0x']
    for (const change of [...others.map((other) => ({ data: other })), { value: 1n }, { to: THIEF }])
      given(opening)
        .when({ ...call, ...change })
        .refused(test, /call/)
  }
})

t.test('a transaction has one nonce until a final block gives it to another', async (test) => {
  for (const nonce of [NONCE + 1, NONCE - 1, 0]) given(requested, signed).when({ nonce }).refused(test, /nonce/)
  for (const nonce of [-1, 1.5, Number.NaN, '7', 7n, null, undefined, 2 ** 53])
    given(requested)
      .when({ nonce })
      .refused(test, /not a whole number/)
  given(requested, signed, consumed)
    .when()
    .refused(test, /another transaction used/)
  given(requested, signed, consumed)
    .when({ nonce: NONCE + 1 })
    .covered(test)
})

t.test('a signature that was never recorded is remembered by its signer', async (test) => {
  given(requested)
    .when({}, { signedNonces: [NONCE] })
    .covered(test)
  given(requested)
    .when({ ...TAGGED, nonce: NONCE + 1 }, { signedNonces: [NONCE] })
    .refused(test, /may still be mined/)
  given(requested, signed)
    .when(TAGGED, { signedNonces: [NONCE, NONCE + 1] })
    .refused(test, /may still be mined/)
  given(requested, signed, consumed)
    .when({ nonce: NONCE + 1 }, { signedNonces: [NONCE] })
    .covered(test)
})

t.test(
  'a cancellation is covered once it was asked for, and only as a transfer of nothing to the sender',
  async (test) => {
    const cancelled = [requested, signed, cancellation] as const
    given(...cancelled)
      .when({}, {}, CANCELLATION)
      .covered(test)
    given(...cancelled, cancelling)
      .when(DEAREST, {}, CANCELLATION)
      .covered(test)
    given(requested, signed, cancelling).when(DEAREST, {}, CANCELLATION).covered(test)
    given(requested, signed, cancelling)
      .when({ ...DEAREST, gasLimit: 100_000n }, {}, CANCELLATION)
      .covered(test)
    given(requested, signed).when({}, {}, CANCELLATION).refused(test, /call/)
    given(requested).when({}, {}, CANCELLATION).refused(test, /call/)
    const wrong: [change: object, rule: RegExp][] = [
      [{ nonce: NONCE + 1 }, /nonce/],
      [{ value: 1n }, /not a cancellation/],
      [{ to: THIEF }, /not a cancellation/],
      [{ data: '0x00' }, /not a cancellation/],
      [{ gasLimit: 100_001n }, /more than 100000 gas/],
    ]
    for (const [change, rule] of wrong)
      given(...cancelled)
        .when(change, {}, CANCELLATION)
        .refused(test, rule)
    given(...cancelled)
      .when()
      .refused(test, /being cancelled/)
    given(...cancelled, cancelling)
      .when()
      .refused(test, /being cancelled/)
    given(requested, cancellation)
      .when()
      .refused(test, /cancelled/)
  },
)

t.test('nothing of a transaction that is in a block or has ended is covered', async (test) => {
  const ends: TransactionEvent[][] = [
    [signed, mined],
    [signed, mined, golden('TransactionConfirmed')],
    [signed, mined, golden('TransactionReverted')],
    [golden('TransactionFailed')],
    [cancellation, golden('TransactionCancelled')],
    [signed, cancellation, cancelling, golden('TransactionCancelled')],
  ]
  for (const end of ends)
    for (const base of [TRANSFER, CANCELLATION])
      given(requested, ...end)
        .when({}, {}, base)
        .refused(test, /nothing left to sign/)
  given()
    .when()
    .refused(test, /no such transaction/)
  given(requested, signed, mined, golden('TransactionReorged')).when().covered(test)
})

t.test('fees stay below the cap, and gas within what a transaction may use', async (test) => {
  const wrong: [change: object, rule: RegExp][] = [
    [{ maxFeePerGas: CAP + 1n }, /cap/],
    [{ maxPriorityFeePerGas: 20_000_065_537n }, /tip/],
    [{ gasLimit: 0n }, /gas limit/],
    [{ gasLimit: 2n ** 24n + 1n }, /gas limit/],
    [{ maxPriorityFeePerGas: -1n }, /not a valid amount/],
    [{ maxFeePerGas: '1' }, /not a valid amount/],
    [{ gasLimit: 21_000 }, /not a valid amount/],
    [{ maxFeePerGas: undefined }, /not a valid amount/],
  ]
  for (const [change, rule] of wrong) given(requested).when(change).refused(test, rule)
})

t.test('a first signature costs at most twice the reserved fee and gas', async (test) => {
  const most = { maxFeePerGas: 40_000_131_072n, gasLimit: 221_000n }
  given(requested).when(most).covered(test)
  given(requested)
    .when({ ...most, maxFeePerGas: 40_000_131_073n })
    .refused(test, /fee is far above/)
  given(requested)
    .when({ ...most, gasLimit: 221_001n })
    .refused(test, /gas limit is far above/)
  const large: TransactionEvent = {
    ...requested,
    data: { ...requested.data, reserved: { gasLimit: 300_000n, maxFeePerGas: 20_000_000_000n } },
  }
  given(large).when({ gasLimit: 600_000n }).covered(test)
  given(large)
    .when({ gasLimit: 600_001n })
    .refused(test, /gas limit/)
  // What a fork lets a transaction have is not theirs to know: the bound is what was reserved.
  const reserved = { gasLimit: 26_000_000n, maxFeePerGas: 20_000_000_000n }
  const wide = { ...large, data: { ...large.data, reserved } } as TransactionEvent
  given(wide).when({ gasLimit: 48_100_000n }).covered(test)
})

t.test(
  'a replacement costs as much as what it replaces, at most twice as much, and has at least its gas limit',
  async (test) => {
    given(requested, signed, replaced)
      .when({ ...DEAREST, maxFeePerGas: DEAREST.maxFeePerGas + 1n })
      .refused(test, /more than twice/)
    given(requested, signed, replaced)
      .when({ ...DEAREST, gasLimit: 20_999n })
      .refused(test, /gas limit is lower/)
    given(requested, signed, replaced)
      .when()
      .refused(test, /lower than that/)
  },
)

t.test('a first signature is for what is still valid, and whose dependency has succeeded', async (test) => {
  const until = (validUntil: string): TransactionEvent => ({ ...requested, data: { ...requested.data, validUntil } })
  given(until('2026-11-21T12:00:00.001Z')).when().covered(test)
  given(until(NOW))
    .when()
    .refused(test, /expired/)
  given(until(NOW), signed).when().covered(test)
  const dependent: TransactionEvent = { ...requested, data: { ...requested.data, dependsOn: 'tx_2' } }
  const failed: TransactionEvent = { ...mined, data: { ...mined.data, succeeded: false } }
  given(dependent)
    .when()
    .refused(test, /depends/)
  for (const events of [
    [requested],
    [requested, signed],
    [requested, signed, failed],
    [requested, golden('TransactionFailed')],
  ])
    given(dependent)
      .when({}, { dependency: fold(events) })
      .refused(test, /depends/)
  given(dependent)
    .when({}, { dependency: fold([requested, signed, mined]) })
    .covered(test)
  given(dependent, signed).when().covered(test)
})

t.test('values of another kind are not taken for the recorded ones', async (test) => {
  const confused = [
    { value: '1000000000000000000' },
    { value: 1e18 },
    { chainId: '1' },
    { chainId: 1n },
    { to: null },
    { to: [to] },
    { to: { toLowerCase: () => to.toLowerCase() } },
    { data: undefined },
    { data: ['0x'] },
    { address: null },
  ]
  for (const change of confused) given(requested).when(change).refused(test, /./)
})
