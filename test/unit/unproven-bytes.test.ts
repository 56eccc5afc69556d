/** Recorded bytes raise the limits of the next signature only if the wallet's key signed them for this transaction. */
import { createHash } from 'node:crypto'
import { keccak256 } from 'ethers'
import t, { type Test } from 'tap'
import { signEip1559 } from '../../src/keys/eip1559.ts'
import { HdKey } from '../../src/keys/hd-key.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { transactionDecider } from '../../src/transactions/decider.ts'
import { unprovenBytes } from '../../src/transactions/unproven-bytes.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { consumed, fold, requested, signed, TAG_KEYS, TRANSFER, tagged } from '../support/recorded-transactions.ts'

const key = new HdKey(createHash('sha256').update('a wallet').digest())
const opening: TransactionEvent = {
  ...requested,
  data: { ...requested.data, from: key.address, idempotency: null },
}
const EXACT = tagged(fold([opening]), TRANSFER)

function bytesOf(transaction: UnsignedTransaction, by = key) {
  const { hash, rawTransaction } = signEip1559(transaction, (digest) => by.sign(digest))
  const { nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const fees = { gasLimit, maxFeePerGas, maxPriorityFeePerGas }
  return { nonce, hash, rawTransaction, fees }
}

function judge(change: object, transaction = EXACT, rest: readonly TransactionEvent[] = [], first = opening) {
  const event: TransactionEvent = { ...signed, data: { ...signed.data, ...bytesOf(transaction), ...change } }
  const state = fold([first, event, ...rest])
  if (state.state === 'unknown') throw new Error('an opening opens')
  return unprovenBytes(state, 'tx_1', TAG_KEYS)
}

const refused = (test: Test, reason: string | null, rule = /not a signature/) => test.match(reason, rule)

t.test('bytes that the wallet signed for the call are proven', async (test) => {
  test.equal(judge({}), null)
  test.equal(judge({}, EXACT, [consumed]), null, 'also when their nonce was lost')
})

t.test('bytes with another nonce, fee, gas, call, chain, signer or hash prove nothing', async (test) => {
  const { fees } = bytesOf(EXACT)
  for (const change of [
    { nonce: 5_000 },
    { nonce: -1 },
    { fees: { ...fees, maxFeePerGas: 4_500_000_000_000n } },
    { fees: { ...fees, gasLimit: 42_000n } },
    { fees: { ...fees, maxPriorityFeePerGas: 999_999_999_999_999n } },
    { hash: `0x${'ab'.repeat(32)}` },
    { rawTransaction: '0x02f8' },
    { rawTransaction: '0x' },
    bytesOf({ ...EXACT, value: 1n }),
    bytesOf({ ...EXACT, to: key.address }),
    bytesOf({ ...EXACT, data: '0x00' }),
    bytesOf({ ...EXACT, chainId: 137 }),
    bytesOf(EXACT, new HdKey(createHash('sha256').update('a thief').digest())),
  ]) {
    refused(test, judge(change))
    refused(test, judge(change, EXACT, [{ ...consumed, data: { ...consumed.data } }]))
  }
})

t.test('the twin of a signature, which no node accepts, proves nothing', async (test) => {
  const order = 2n ** 256n - 432420386565659656852420866394968145599n
  const { rawTransaction } = bytesOf(EXACT)
  const s = BigInt(`0x${rawTransaction.slice(-64)}`)
  const raw = rawTransaction.slice(0, -64) + (order - s).toString(16).padStart(64, '0')
  const parityAt = raw.length - 64 - 2 - 64 - 2 - 2
  const parity = raw.slice(parityAt, parityAt + 2)
  const twin = `${raw.slice(0, parityAt)}${parity === '80' ? '01' : '80'}${raw.slice(parityAt + 2)}`
  refused(test, judge({ rawTransaction: twin, hash: keccak256(twin) }))
})

t.test('bytes of an equal payment have the tag of another request', async (test) => {
  const state = fold([opening])
  const other = tagged(state, TRANSFER, 'tx_2')
  refused(test, judge({}, other), /the tag of the request/)
  test.equal(judge({ claimed: true, recovered: true }, other), null, 'unless an operator said so')
  const { idempotency: _, ...untagged } = (opening as typeof requested).data
  test.equal(judge({}, other, [], { ...requested, data: untagged }), null, 'or the version did not tag')
})

t.test('a cancellation is proven as a transfer of nothing to the wallet itself', async (test) => {
  const cancel = (transaction: UnsignedTransaction): TransactionEvent => ({
    type: 'TransactionReplaced',
    data: {
      ...bytesOf(transaction),
      purpose: 'cancel',
      replacedHash: `0x${'00'.repeat(32)}`,
      quote: null,
      signedAt: signed.data.signedAt,
    },
  })
  const wanted = transactionDecider.evolve(fold([opening]), {
    type: 'CancellationRequested',
    data: { requestedAt: signed.data.signedAt },
  })
  const nothing = { ...TRANSFER, to: key.address, value: 0n }
  test.equal(judge({}, EXACT, [cancel(tagged(wanted, nothing))]), null)
  refused(test, judge({}, EXACT, [cancel(EXACT)]))
})

t.test('a second initial event does not make a transaction forget what was signed', async (test) => {
  const event: TransactionEvent = { ...signed, data: { ...signed.data, ...bytesOf(EXACT) } }
  matchExactly(test, fold([opening, event, requested]), { state: 'signed', attempts: [{ nonce: EXACT.nonce }] })
})
