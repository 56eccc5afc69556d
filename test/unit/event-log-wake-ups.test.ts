/** What a wake-up says, and what is read from one that another version or program sent. */
import fc from 'fast-check'
import t from 'tap'
import { readPayload, toPayload } from '../../src/event-log/wake-ups.ts'

const laneOf = (n: number) => `1-0x${String(n).padStart(40, '0')}`
const worksOf = (count: number) => Array.from({ length: count }, (_, n) => `sign ${laneOf(n)}`)
/** PostgreSQL refuses a longer one: the wake-up would be lost. */
const MOST_BYTES = 7_999

t.test('a wake-up says which types of events were appended, and which work they made', async (t) => {
  const types = new Set(['TransferRequested', 'TransactionSigned'])
  const work = [`sign ${laneOf(1)}`, `submit ${laneOf(2)}`]
  const payload = toPayload(types, new Set(work))
  t.equal(payload, `TransferRequested,TransactionSigned;${work.join(',')}`)
  t.strictSame(readPayload(payload), { types, work })
})

t.test('events that made no work, and work without events, are told apart from anything', async (t) => {
  t.strictSame(readPayload(toPayload(new Set(['KeyIssued']), new Set())), { types: new Set(['KeyIssued']), work: [] })
  t.strictSame(readPayload(toPayload(new Set(), new Set(worksOf(1)))), { types: new Set(), work: worksOf(1) })
  t.strictSame(readPayload(toPayload(new Set(), new Set())), { types: new Set(), work: [] })
})

t.test('more work than a payload holds may be anything, and the types stay', async (t) => {
  const types = new Set(['TransferRequested'])
  const most = toPayload(types, new Set(worksOf(157)))
  t.equal(readPayload(most).work?.length, 157)
  t.equal(toPayload(types, new Set(worksOf(200))), 'TransferRequested;*')
  t.strictSame(readPayload('TransferRequested;*'), { types, work: null })
  const long = new Set(Array.from({ length: 500 }, (_, n) => `TypeOfAnEvent${n}`))
  t.strictSame(readPayload(toPayload(long, new Set(worksOf(1)))), { types: null, work: null })
})

t.test('no payload is longer than PostgreSQL takes, and each says no less than what happened', async () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[A-Za-zé]{1,40}$/), { maxLength: 400 })
  fc.assert(
    fc.property(names, names, (types, work) => {
      const payload = toPayload(new Set(types), new Set(work))
      const read = readPayload(payload)
      const isTold = (told: Iterable<string> | null, all: readonly string[]) =>
        told === null || all.every((name) => [...told].includes(name))
      return Buffer.byteLength(payload) <= MOST_BYTES && isTold(read.types, types) && isTold(read.work, work)
    }),
  )
})

t.test('the length of a payload is that of its bytes', async (t) => {
  const long = new Set(Array.from({ length: 60 }, (_, n) => `${'é'.repeat(100)}${n}`))
  t.equal(toPayload(new Set(), long), ';*')
  t.equal(toPayload(long, new Set()), '*;*')
})

t.test('a wake-up of an older version, or an empty one, may be of anything', async (t) => {
  t.strictSame(readPayload(''), { types: null, work: null })
  t.strictSame(readPayload('TransferRequested'), { types: new Set(['TransferRequested']), work: null })
})

t.test('a wake-up that another program made up is read without an error', async () => {
  fc.assert(
    fc.property(fc.string(), (payload) => {
      const { types, work } = readPayload(payload)
      return (types === null || types instanceof Set) && (work === null || Array.isArray(work))
    }),
  )
})
