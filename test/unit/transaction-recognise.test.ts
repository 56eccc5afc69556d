/** Which transactions on chain are a request's own, another program's, or for an operator to judge. */
import t from 'tap'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { buildCall, buildCancellation } from '../../src/transactions/build-call.ts'
import { contentOf } from '../../src/transactions/content.ts'
import {
  type Known,
  type LooseOutside,
  type Proven,
  recogniseFirst,
  recogniseNewer,
} from '../../src/transactions/outside.ts'
import type { ShownTransaction } from '../../src/transactions/read-signed.ts'
import { type TagPurpose, tagOf } from '../../src/transactions/tags.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { consumed, fold, golden, requested, signed, TAG_KEYS } from '../support/recorded-transactions.ts'

const LANE = { chainId: requested.data.chainId, address: requested.data.from }
const HASH = `0x${'cd'.repeat(32)}`
const TAGGING = { keys: TAG_KEYS, untagged: false }
const AFTER_OLDER = { keys: TAG_KEYS, untagged: true }

/** `idempotency`: missing for a request that an older version accepted. */
function known(
  events: readonly TransactionEvent[] = [],
  idempotency: object | null = { key: 'k', part: 0 },
  id = 'tx_1',
): Known {
  const { idempotency: _, ...data } = requested.data
  const opening = { ...requested, data: idempotency === null ? data : { ...data, idempotency } } as TransactionEvent
  const state = fold([opening, ...events])
  if (state.state === 'unknown') throw new Error('it was requested')
  return { loaded: { id, state, version: 1, hash: '' }, transaction: state }
}

type Row = Proven<LooseOutside>

/** What a node returns of bytes is proven by their hash elsewhere: here only that it returns them. */
const SHOWN = { nonce: 7, hash: HASH } as unknown as ShownTransaction

function bytesOf(one: Known, purpose: TagPurpose, patch: Partial<Row> = {}): Row {
  const { intent } = one.transaction
  const content = contentOf(purpose === 'send' ? buildCall(intent) : buildCancellation(intent))
  const tag = tagOf(TAG_KEYS, { id: one.loaded.id, transaction: one.transaction }, purpose)
  return { nonce: 7, hash: HASH, content, tag, isTaken: false, bytes: SHOWN, ...patch }
}

const first = (one: Known, outside: Row, settings = TAGGING) =>
  recogniseFirst(settings, [one], [outside]).map((found) => [found.is, 'why' in found ? found.why : null])

t.test('a waiting request takes what has its tag and its effect, and nothing that only has its effect', async (t) => {
  const one = known()
  t.strictSame(first(one, bytesOf(one, 'send')), [['own', null]])
  for (const tag of [null, 0, 1, bytesOf(known([], { key: 'other', part: 0 }), 'send').tag])
    t.strictSame(first(one, bytesOf(one, 'send', { tag })), [], 'an equal payment')
  t.strictSame(first(known([], { key: 'k', part: 0 }, 'tx_2'), bytesOf(one, 'send')), [['own', null]], 'repeated')
  t.strictSame(first(known([signed]), bytesOf(one, 'send')), [], 'it does not wait')
})

t.test(
  'after a restore to before the upgrade each request waits for an operator that equals bytes without a tag',
  async (t) => {
    const [older, equal, repeated] = [
      known([], null, 'tx_1'),
      known([], null, 'tx_2'),
      known([], { key: 'k', part: 0 }, 'tx_3'),
    ]
    const bytes = bytesOf(older, 'send', { tag: null })
    const found = recogniseFirst(AFTER_OLDER, [older, equal, repeated], [bytes])
    t.strictSame(
      found.map(({ is, known: { loaded } }) => [is, loaded.id]),
      ['tx_1', 'tx_2', 'tx_3'].map((id) => ['unclear', id]),
    )
    const signedAgain = known([signed])
    matchExactly(t, recogniseNewer(AFTER_OLDER, signedAgain, bytesOf(signedAgain, 'send', { tag: null })), [
      { is: 'unclear' },
    ])
  },
)

t.test('what cannot be told apart is unclear until it is rejected', async (t) => {
  const one = known()
  const other = contentOf({ to: LANE.address, value: 1n, data: '0x' })
  t.strictSame(first(one, bytesOf(one, 'send', { content: other })), [['unclear', 'other_call']])
  t.strictSame(first(one, bytesOf(one, 'send', { isTaken: true })), [['unclear', 'nonce_taken']])
  const older = known([], null)
  t.strictSame(first(older, bytesOf(older, 'send', { tag: null }), AFTER_OLDER), [['unclear', 'no_tag']])
  t.strictSame(first(older, bytesOf(older, 'send', { tag: null })), [], 'without evidence of a restore')
  const rejected: TransactionEvent = {
    ...golden('LookalikeRejected'),
    data: { hash: HASH, nonce: 7, by: 'operator', rejectedAt: '' },
  }
  t.strictSame(first(known([rejected], null), bytesOf(older, 'send', { tag: null }), AFTER_OLDER), [])
  t.strictSame(first(known([rejected]), bytesOf(one, 'send', { content: other })), [])
})

t.test(
  'bytes at the nonce of a signed request are its own by their tag, and otherwise of another program',
  async (t) => {
    const one = known([signed])
    const newer = (patch: Partial<Row>, purpose: TagPurpose = 'send', settings = TAGGING, from = one) =>
      recogniseNewer(settings, from, bytesOf(from, purpose, patch)).map((found) => [
        found.is,
        'purpose' in found ? found.purpose : null,
      ])
    t.strictSame(newer({}), [['own', 'bump']])
    t.strictSame(newer({}, 'cancel'), [['own', 'cancel']])
    t.strictSame(newer({ tag: 5 }), [['foreign', null]])
    t.strictSame(
      newer({ tag: bytesOf(one, 'cancel').tag }),
      [['foreign', null]],
      'a payment with the tag of a cancellation',
    )
    t.strictSame(newer({ content: 'something else' }), [], 'the follower proves the loss')
    const older = known([signed], null)
    t.strictSame(newer({ tag: null }, 'send', AFTER_OLDER, older), [['unclear', null]])
    t.strictSame(newer({ tag: null }, 'send', TAGGING, older), [['foreign', null]])
  },
)

t.test('what no node shows decides nothing: a request waits, and no payment counts as rejected', async (t) => {
  const one = known()
  t.strictSame(first(one, bytesOf(one, 'send', { bytes: null })), [['unclear', 'not_shown']])
  t.strictSame(first(one, bytesOf(one, 'send', { bytes: null, tag: 5 })), [['unclear', 'not_shown']], 'its effect')
  t.strictSame(first(one, bytesOf(one, 'send', { bytes: 'foreign' })), [], 'another type, which nobody signs here')
  const sent = known([signed])
  t.strictSame(recogniseNewer(TAGGING, sent, bytesOf(sent, 'send', { bytes: null, tag: 5 })), [])
  matchExactly(t, recogniseNewer(TAGGING, sent, bytesOf(sent, 'send', { bytes: 'foreign' })), [{ is: 'foreign' }])
})

t.test('a transaction that took a nonce of the request, as the log names it, is not asked about again', async (t) => {
  const other = contentOf({ to: LANE.address, value: 1n, data: '0x' })
  const lost = known([signed, consumed])
  const { nonce } = signed.data
  t.strictSame(first(lost, bytesOf(lost, 'send', { content: other, nonce })), [])
  t.strictSame(first(lost, bytesOf(lost, 'send', { content: other, nonce: nonce + 1 })), [['unclear', 'other_call']])
})

t.end()
