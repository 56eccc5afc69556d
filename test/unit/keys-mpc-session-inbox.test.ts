/** The inbox accepts every message once, in order, and reports why it refuses others. */
import fc from 'fast-check'
import t from 'tap'
import type { Message } from '../../src/keys/mpc/message.ts'
import { type CompleteRound, createSessionInbox, type SessionPlan } from '../../src/keys/mpc/session-inbox.ts'

const one = '1'.repeat(32)
const two = '2'.repeat(32)
const plan: SessionPlan = {
  session: one,
  kind: 7,
  rounds: [['party-1', 'party-3'], ['party-1', 'party-3'], ['party-3']],
}

function message(sender: string, sequence: number, changes: Partial<Message> = {}): Message {
  const payload = Buffer.from(`${sender} ${sequence}`)
  return { session: one, kind: 7, round: sequence + 1, sequence, sender, receiver: 'party-2', payload, ...changes }
}

function listening() {
  const rounds: { session: string; round: number; payloads: Record<string, string> }[] = []
  const refused: string[] = []
  const clock = { now: 0 }
  const inbox = createSessionInbox({
    onRound: ({ session, round, payloads }: CompleteRound) => {
      const texts = [...payloads].map(([sender, payload]) => [sender, Buffer.from(payload).toString()]).sort()
      rounds.push({ session, round, payloads: Object.fromEntries(texts) })
    },
    onRefused: ({ sender, sequence }, reason) => void refused.push(`${sender} ${sequence}: ${reason}`),
    now: () => clock.now,
  })
  return { inbox, rounds, refused, clock }
}

const all = [
  message('party-1', 0),
  message('party-3', 0),
  message('party-1', 1),
  message('party-3', 1),
  message('party-3', 2),
]
const whole = [
  { session: one, round: 1, payloads: { 'party-1': 'party-1 0', 'party-3': 'party-3 0' } },
  { session: one, round: 2, payloads: { 'party-1': 'party-1 1', 'party-3': 'party-3 1' } },
  { session: one, round: 3, payloads: { 'party-3': 'party-3 2' } },
]

t.test('rounds are delivered complete and in order, however messages of different senders are interleaved', (t) => {
  const kept = (messages: readonly Message[]) =>
    ['party-1', 'party-3'].every((sender) => {
      const turns = messages.filter((each) => each.sender === sender).map((each) => each.sequence)
      return turns.every((turn, index) => turn === index)
    })
  fc.assert(
    fc.property(
      fc.shuffledSubarray(all, { minLength: all.length }).filter(kept),
      fc.nat(all.length),
      (messages, opening) => {
        const { inbox, rounds, refused } = listening()
        for (const each of messages.slice(0, opening)) inbox.receive(each)
        t.ok(inbox.open(plan))
        for (const each of messages.slice(opening)) inbox.receive(each)
        t.strictSame(rounds, whole)
        t.strictSame(refused, [])
      },
    ),
  )
  t.end()
})

t.test('whatever a faulty peer sends, each round is delivered once with the messages sent in it', (t) => {
  const noise = fc.record({
    sender: fc.constantFrom('party-1', 'party-3', 'party-4', 'coordinator'),
    sequence: fc.nat(4),
    changes: fc.record(
      { session: fc.constantFrom(one, two), kind: fc.constantFrom(7, 8), round: fc.nat(5) },
      { requiredKeys: ['session', 'kind', 'round'] },
    ),
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(noise, fc.constantFrom(...all)), { maxLength: 40 }), (messages) => {
      const { inbox, rounds } = listening()
      inbox.open(plan)
      for (const each of messages) {
        inbox.receive('receiver' in each ? each : message(each.sender, each.sequence, each.changes))
      }
      t.strictSame(rounds, whole.slice(0, rounds.length))
    }),
  )
  t.end()
})

t.test('a repeated message is refused: in its round, in a later one, or after the session', (t) => {
  const { inbox, rounds, refused } = listening()
  inbox.open(plan)
  inbox.receive(message('party-1', 0))
  inbox.receive(message('party-1', 0))
  inbox.receive(message('party-1', 0, { payload: Buffer.from('other') }))
  inbox.receive(message('party-3', 0))
  inbox.receive(message('party-3', 0))
  inbox.receive(message('party-1', 0, { round: 2 }))
  inbox.close(one)
  inbox.receive(message('party-1', 1))
  t.strictSame(refused, [
    'party-1 0: seen_before',
    'party-1 0: seen_before',
    'party-3 0: seen_before',
    'party-1 0: seen_before',
    'party-1 1: session_closed',
  ])
  t.strictSame(rounds, whole.slice(0, 1))
  t.end()
})

t.test('another ceremony, an unknown sender, a gap and a wrong round are distinguished', (t) => {
  const { inbox, rounds, refused } = listening()
  inbox.open(plan)
  inbox.receive(message('party-1', 0, { kind: 8 }))
  inbox.receive(message('party-4', 0))
  inbox.receive(message('party-1', 1))
  inbox.receive(message('party-1', 0, { round: 2 }))
  inbox.receive(message('party-1', 0, { round: 0 }))
  t.strictSame(refused, [
    'party-1 0: another_ceremony',
    'party-4 0: not_a_participant',
    'party-1 1: out_of_sequence',
    'party-1 0: another_round',
    'party-1 0: another_round',
  ])
  for (const sequence of [0, 1]) inbox.receive(message('party-1', sequence))
  inbox.receive(message('party-1', 2))
  t.equal(refused.at(-1), 'party-1 2: another_round')
  t.strictSame(rounds, [])
  t.end()
})

t.test('a session is opened once, and never again after it was closed', (t) => {
  const { inbox } = listening()
  t.ok(inbox.open(plan))
  t.notOk(inbox.open(plan))
  inbox.close(one)
  t.notOk(inbox.open(plan))
  t.ok(inbox.open({ ...plan, session: two }))
  t.end()
})

t.test('a message of a session that is not opened is held for a moment, then refused', (t) => {
  const { inbox, refused, clock, rounds } = listening()
  inbox.receive(message('party-1', 0))
  inbox.receive(message('party-1', 0, { session: two }))
  t.strictSame(refused, [])
  clock.now = 6_000
  inbox.receive(message('party-3', 0))
  t.strictSame(refused, ['party-1 0: session_unknown', 'party-1 0: session_unknown'])
  inbox.open(plan)
  inbox.receive(message('party-1', 0))
  t.strictSame(rounds, whole.slice(0, 1))
  t.end()
})

t.test('early messages of a peer are bounded, in number and in bytes, and do not reduce the limit of others', (t) => {
  const { inbox, refused, rounds } = listening()
  const session = (index: number) => index.toString(16).padStart(32, '0')
  for (let index = 0; index < 300; index += 1) inbox.receive(message('party-1', 0, { session: session(index) }))
  t.equal(refused.length, 300 - 256)
  const large = Buffer.alloc(9 * 1024 * 1024)
  inbox.receive(message('party-3', 0, { session: session(0), payload: large }))
  inbox.receive(message('party-3', 0, { session: session(1), payload: large }))
  t.equal(refused.length, 300 - 256 + 1)
  inbox.receive(message('party-3', 0))
  inbox.open({ ...plan, rounds: [['party-3']] })
  t.equal(rounds.length, 1)
  t.end()
})

t.test('messages held for open sessions are bounded, and released when a session is closed', (t) => {
  const { inbox, refused } = listening()
  const large = { payload: Buffer.alloc(15 * 1024 * 1024) }
  const open = (session: string) => inbox.open({ session, kind: 7, rounds: [['party-1', 'party-3']] })
  const sessions = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(32))
  for (const session of sessions) {
    open(session)
    inbox.receive(message('party-1', 0, { session, ...large }))
  }
  t.strictSame(refused, ['party-1 0: too_much_gathered'])
  inbox.close(sessions[0] ?? '')
  inbox.receive(message('party-1', 0, { session: sessions[4] ?? '', ...large }))
  t.equal(refused.length, 1)
  t.end()
})

t.test(
  'a round without messages to this process is complete at once, and a session may be closed within a round',
  (t) => {
    const heard: number[] = []
    const inbox = createSessionInbox({
      onRound: ({ session, round }) => {
        heard.push(round)
        if (round === 2) inbox.close(session)
      },
      onRefused: () => t.fail('the inbox refused a message'),
    })
    inbox.open({ session: one, kind: 7, rounds: [[], ['party-1'], []] })
    t.strictSame(heard, [1])
    inbox.receive(message('party-1', 0, { round: 2 }))
    t.strictSame(heard, [1, 2])
    t.end()
  },
)
