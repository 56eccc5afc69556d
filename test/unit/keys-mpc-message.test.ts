/** Envelopes: one message has one encoding, and a changed bit never gives the same message or ends the process. */
import fc from 'fast-check'
import t from 'tap'
import { encodeMessage, type Message, readMessage } from '../../src/keys/mpc/message.ts'
import { createSessionInbox } from '../../src/keys/mpc/session-inbox.ts'

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/)
const message: fc.Arbitrary<Message> = fc.record({
  session: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  kind: fc.nat(255),
  round: fc.nat(65_535),
  sequence: fc.nat(4_294_967_295),
  sender: name,
  receiver: name,
  payload: fc.uint8Array({ maxLength: 100 }),
})
const plain = (value: Message) => ({ ...value, payload: Buffer.from(value.payload).toString('hex') })
const session = '000102030405060708090a0b0c0d0e0f'
const sample: Message = {
  session,
  kind: 2,
  round: 1,
  sequence: 0,
  sender: 'party-1',
  receiver: 'party-2',
  payload: Buffer.from('payload'),
}

t.test('an encoded message is decoded with equal fields', (t) => {
  fc.assert(
    fc.property(message, (sent) => {
      const read = readMessage(encodeMessage(sent), sent.sender, sent.receiver)
      if ('refused' in read) throw new Error(read.refused)
      t.strictSame(plain(read), plain(sent))
      t.equal(Buffer.compare(encodeMessage(read), encodeMessage(sent)), 0)
    }),
  )
  t.end()
})

t.test('a message is accepted only from the peer of the channel, and only if it is addressed to this process', (t) => {
  const frame = encodeMessage(sample)
  t.strictSame(readMessage(frame, 'party-3', 'party-2'), { refused: 'sender_is_not_the_peer' })
  t.strictSame(readMessage(frame, 'party-1', 'party-3'), { refused: 'not_for_us' })
  t.strictSame(readMessage(frame, 'party-11', 'party-2'), { refused: 'sender_is_not_the_peer' })
  t.notOk('refused' in readMessage(frame, 'party-1', 'party-2'))
  t.end()
})

t.test('other bytes than a message are refused without a throw', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
      t.ok('refused' in readMessage(bytes, 'party-1', 'party-2'))
    }),
  )
  const frame = encodeMessage(sample)
  const headerBytes = frame.length - sample.payload.length
  for (let length = 0; length < headerBytes; length += 1) {
    t.ok('refused' in readMessage(frame.subarray(0, length), 'party-1', 'party-2'), `${length} bytes are refused`)
  }
  t.strictSame(readMessage(frame.with(0, 2), 'party-1', 'party-2'), { refused: 'unknown_version' })
  t.end()
})

t.test('a flipped bit anywhere before the payload is refused, by the envelope or by the session', (t) => {
  const frame = encodeMessage(sample)
  const headerBytes = frame.length - sample.payload.length
  const refusals = new Map<string, number>()
  for (let bit = 0; bit < headerBytes * 8; bit += 1) {
    const changed = Uint8Array.from(frame)
    changed[bit >> 3] = (frame[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const [reasons, rounds]: [string[], number[]] = [[], []]
    let clock = 0
    const inbox = createSessionInbox({
      onRound: ({ round }) => void rounds.push(round),
      onRefused: (_, why) => void reasons.push(why),
      now: () => clock,
    })
    inbox.open({ session, kind: 2, rounds: [['party-1'], ['party-1']] })
    const read = readMessage(changed, 'party-1', 'party-2')
    if ('refused' in read) {
      reasons.push(read.refused)
    } else {
      inbox.receive(read)
      // A message of an unknown session is kept briefly: it is refused afterwards.
      clock = 60_000
      inbox.open({ session: 'f'.repeat(32), kind: 2, rounds: [] })
    }
    t.strictSame(rounds, [], `a message with bit ${bit} flipped reaches no round`)
    t.equal(reasons.length, 1, `a message with bit ${bit} flipped is refused once`)
    for (const reason of reasons) refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
  }
  const ofNames = ['malformed', 'sender_is_not_the_peer', 'not_for_us'].map((reason) => refusals.get(reason) ?? 0)
  t.strictSame(
    ofNames.reduce((sum, count) => sum + count),
    (2 + 'party-1party-2'.length) * 8,
  )
  t.match(Object.fromEntries(refusals), {
    unknown_version: 8,
    another_ceremony: 8,
    another_round: 16,
    out_of_sequence: 32,
    session_unknown: 128,
  })
  t.end()
})

t.test('a field that the encoding cannot hold is a defect of the caller', (t) => {
  for (const wrong of [
    { kind: 256 },
    { kind: -1 },
    { round: 65_536 },
    { sequence: 4_294_967_296 },
    { session: session.slice(2) },
    { session: session.toUpperCase() },
    { sender: 'Party-1' },
    { receiver: '../x' },
    { sender: '' },
  ]) {
    t.throws(() => encodeMessage({ ...sample, ...wrong }), RangeError, JSON.stringify(wrong))
  }
  t.end()
})
