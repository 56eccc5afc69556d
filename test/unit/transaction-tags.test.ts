/** Tags: which request bytes were signed for, in their fees, at a bounded cost. */
import fc from 'fast-check'
import t from 'tap'
import { TAG_ROOM_WEI } from '../../src/chain/fees.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { coversTransaction } from '../../src/transactions/covers.ts'
import type { KnownTransaction } from '../../src/transactions/state.ts'
import {
  readTag,
  replacementWithTag,
  type TagKeys,
  type TagPurpose,
  tagOf,
  tagsOf,
  withTag,
} from '../../src/transactions/tags.ts'
import {
  cancellation,
  FACTS,
  fold,
  golden,
  recordedAs,
  requested,
  signed,
  TRANSFER,
  tagged,
} from '../support/recorded-transactions.ts'

const SPAN = 2n ** 16n
const KEYS: TagKeys = [Buffer.alloc(32, 1)]
const NEWER: TagKeys = [Buffer.alloc(32, 2), ...KEYS]
const fee = fc.bigInt({ min: 0n, max: 10n ** 13n })
const fees = fc
  .tuple(fee, fee)
  .map(([a, b]) => (a < b ? [b, a] : [a, b]) as [bigint, bigint])
  .map(([maxFeePerGas, maxPriorityFeePerGas]) => ({ gasLimit: 21_000n, maxFeePerGas, maxPriorityFeePerGas }))
const tag = fc.integer({ min: 0, max: 2 ** 32 - 1 })

function transactionOf(patch: object = {}, opening = requested): KnownTransaction {
  const state = fold([{ ...opening, data: { ...opening.data, ...patch } } as typeof requested])
  if (state.state === 'unknown') throw new Error('it was requested')
  return state
}

t.test('any fees carry any tag, the fee cap does not rise, and the tip rises by less than a span', async (t) => {
  fc.assert(
    fc.property(fees, tag, (offer, given) => {
      const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = withTag(offer, given)
      const least = offer.maxFeePerGas < SPAN ? 0n : offer.maxFeePerGas - SPAN
      return (
        gasLimit === offer.gasLimit &&
        readTag({ maxFeePerGas, maxPriorityFeePerGas }) === given &&
        maxFeePerGas <= (offer.maxFeePerGas < SPAN ? offer.maxFeePerGas + TAG_ROOM_WEI : offer.maxFeePerGas) &&
        maxFeePerGas > least - 1n &&
        maxPriorityFeePerGas <= maxFeePerGas &&
        maxPriorityFeePerGas < offer.maxPriorityFeePerGas + SPAN
      )
    }),
    { numRuns: 5_000 },
  )
  const high = { gasLimit: 21_000n, maxFeePerGas: 10n ** 10n + TAG_ROOM_WEI, maxPriorityFeePerGas: 10n ** 9n }
  fc.assert(
    fc.property(tag, (given) => {
      const { maxFeePerGas, maxPriorityFeePerGas } = withTag(high, given)
      return maxFeePerGas >= 10n ** 10n && maxPriorityFeePerGas >= high.maxPriorityFeePerGas
    }),
  )
  t.pass('with the room of a quote neither falls below what was quoted')
})

t.test('a replacement offers at least a tenth more in both fees, within its limit, or is not made', async (t) => {
  let made = 0
  fc.assert(
    fc.property(fees, tag, tag, fee, (offer, first, second, room) => {
      const previous = withTag(offer, first)
      const bumped = {
        gasLimit: 21_000n,
        maxFeePerGas: (previous.maxFeePerGas * 9n + 7n) / 8n,
        maxPriorityFeePerGas: (previous.maxPriorityFeePerGas * 9n + 7n) / 8n,
      }
      const most = previous.maxFeePerGas + room
      const replaced = replacementWithTag(bumped, second, { previous, most })
      if (replaced === null) return true
      made += 1
      return (
        readTag(replaced) === second &&
        replaced.maxFeePerGas <= most &&
        replaced.maxPriorityFeePerGas <= replaced.maxFeePerGas &&
        replaced.maxFeePerGas * 10n >= previous.maxFeePerGas * 11n &&
        replaced.maxPriorityFeePerGas * 10n >= previous.maxPriorityFeePerGas * 11n
      )
    }),
    { numRuns: 5_000 },
  )
  t.ok(made > 1_000, `${made} replacements were made`)
  const previous = { maxFeePerGas: 5n, maxPriorityFeePerGas: 3n }
  const offer = { gasLimit: 21_000n, maxFeePerGas: 7n, maxPriorityFeePerGas: 5n }
  const most = 2n * previous.maxFeePerGas + TAG_ROOM_WEI
  t.not(replacementWithTag(offer, 0x0005_0003, { previous, most }), null, 'also where fees are a few wei')
})

t.test('a tag depends on the request and on nothing else', async (t) => {
  const keyed = { idempotency: { key: 'invoice-1', part: 0 } }
  const tagIn = (patch: object, id = 'tx_1', purpose: TagPurpose = 'send', keys = KEYS) =>
    tagOf(keys, { id, transaction: transactionOf(patch) }, purpose)
  const first = tagIn(keyed)
  t.equal(tagIn(keyed, 'tx_2'), first, 'the same key under another transaction id: the request was repeated')
  const later = { ...keyed, requestedAt: '2027-01-01T00:00:00.000Z', memo: 'x', amount: '7', walletId: 'wal_9' }
  t.equal(tagIn(later), first, 'neither time nor content')
  t.equal(tagIn({ ...keyed, from: requested.data.from.toLowerCase() }), first, 'the case of the address')
  const others = [
    tagIn({ idempotency: { key: 'invoice-1', part: 1 } }),
    tagIn({ idempotency: { key: 'invoice-2', part: 0 } }),
    tagIn({ ...keyed, tenantId: 'other' }),
    tagIn({ ...keyed, chainId: 137 }),
    tagIn({ ...keyed, from: `0x${'1'.repeat(40)}` }),
    tagIn(keyed, 'tx_1', 'cancel'),
    tagIn(keyed, 'tx_1', 'send', NEWER),
    tagIn({ idempotency: null }),
    tagIn({ idempotency: null }, 'tx_2'),
    tagOf(KEYS, { id: 'tx_1', transaction: transactionOf(keyed, golden('MintRequested') as never) }, 'send'),
  ]
  t.equal(new Set([first, ...others]).size, others.length + 1, 'each of these is another request')
  t.equal(tagIn({}), tagIn({ idempotency: null }), 'a request without a key is known by its id, also of older versions')
  const both = tagsOf(NEWER, { id: 'tx_1', transaction: transactionOf(keyed) }, 'send')
  t.strictSame(both.slice(1), [first], 'an older key recognises what it tagged')
})

t.test('a party covers fees with the tag of the request, and neither without one nor with another', async (t) => {
  const keyed = { ...requested, data: { ...requested.data, idempotency: { key: 'invoice-1', part: 0 } } }
  const nothing = { ...TRANSFER, to: requested.data.from, value: 0n }
  const cases: [TransactionEvent[], UnsignedTransaction][] = [
    [[requested], TRANSFER],
    [[keyed], TRANSFER],
    [[requested, signed, cancellation], nothing],
  ]
  const address = requested.data.from
  for (const [events, base] of cases) {
    const state = fold(events)
    const covers = (transaction: UnsignedTransaction) =>
      coversTransaction(recordedAs(state), { address, transaction }, FACTS)
    const right = tagged(state, base)
    t.strictSame(covers(right), { covered: true })
    const others = cases.filter(([one]) => one !== events).map(([one]) => tagged(fold(one), base))
    for (const wrong of [
      { ...right, maxFeePerGas: right.maxFeePerGas + 1n },
      { ...right, maxPriorityFeePerGas: right.maxPriorityFeePerGas + 1n },
      ...others,
    ])
      t.match(covers(wrong), { covered: false, rule: /tag of the request/ })
  }
})

t.end()
