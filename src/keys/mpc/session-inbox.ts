/**
 * Filters messages before ceremonies: accepts each message of an open session once, in order, and collects a round
 * until all its senders have sent. Everything else is refused with a reason; messages never cause a throw.
 */
import { createEarlyMessages } from './early-messages.ts'
import type { Message } from './message.ts'

/** Limit of collected bytes of all sessions together; more than this is flooding. */
const MAX_GATHERED_BYTES = 64 * 1024 * 1024
/** Finished sessions that are remembered, so that late messages are recognized. */
const MAX_CLOSED = 10_000

export type SessionPlan = {
  readonly session: string
  readonly kind: number
  /** The senders of the first round, the second, and so on: rounds are numbered from 1. */
  readonly rounds: readonly (readonly string[])[]
}

/** The payloads of a round, by sender. */
export type CompleteRound = {
  readonly session: string
  readonly round: number
  readonly payloads: ReadonlyMap<string, Uint8Array>
}

export type MessageRefusal =
  | 'session_unknown'
  | 'session_closed'
  | 'another_ceremony'
  | 'not_a_participant'
  | 'seen_before'
  | 'out_of_sequence'
  | 'another_round'
  | 'too_much_gathered'

export type SessionInbox = {
  /**
   * Expects the messages of a session from now on. Early messages count, so a round may be complete before this
   * returns.
   *
   * @returns false when this session was opened before: an id is never used twice
   */
  readonly open: (plan: SessionPlan) => boolean
  /** @param message from `readMessage`: its sender and receiver are verified */
  readonly receive: (message: Message) => void
  /** Drops collected messages; later ones are refused. */
  readonly close: (session: string) => void
}

export function createSessionInbox({
  onRound,
  onRefused,
  now = Date.now,
}: {
  /** Called once for each complete round, in order. */
  readonly onRound: (round: CompleteRound) => void
  /** For logs and metrics: a faulty peer, or a finished session. */
  readonly onRefused: (message: Message, reason: MessageRefusal) => void
  /** A clock in milliseconds. */
  readonly now?: () => number
}): SessionInbox {
  const sessions = new Map<string, Session>()
  const closed = new Set<string>()
  const early = createEarlyMessages({ now, onExpired: (message) => onRefused(message, 'session_unknown') })
  let gatheredBytes = 0

  function receive(message: Message): void {
    const session = sessions.get(message.session)
    if (session === undefined) {
      if (closed.has(message.session)) onRefused(message, 'session_closed')
      else if (!early.hold(message)) onRefused(message, 'session_unknown')
      return
    }
    const reason = whyRefused(session, message)
    if (reason === null && gatheredBytes + message.payload.length <= MAX_GATHERED_BYTES) gather(session, message)
    else onRefused(message, reason ?? 'too_much_gathered')
  }

  function gather(session: Session, { session: id, round, sender, sequence, payload }: Message): void {
    gatheredBytes += payload.length
    session.spoken.set(sender, sequence + 1)
    const others = session.gathered.get(round)
    if (others === undefined) session.gathered.set(round, new Map([[sender, payload]]))
    else others.set(sender, payload)
    handOver(id, session)
  }

  function handOver(id: string, session: Session): void {
    // The listener may close the session: no further round follows then.
    while (sessions.get(id) === session) {
      const speakers = session.plan.rounds[session.due - 1]
      const payloads = session.gathered.get(session.due) ?? new Map<string, Uint8Array>()
      if (speakers === undefined || payloads.size < speakers.length) return
      const round = session.due
      session.due += 1
      session.gathered.delete(round)
      release(payloads)
      onRound({ session: id, round, payloads })
    }
  }

  function release(payloads: ReadonlyMap<string, Uint8Array>): void {
    for (const payload of payloads.values()) gatheredBytes -= payload.length
  }

  return {
    open(plan) {
      const { session: id } = plan
      if (sessions.has(id) || closed.has(id)) return false
      const session: Session = { plan, due: 1, spoken: new Map(), gathered: new Map() }
      sessions.set(id, session)
      handOver(id, session)
      for (const message of early.take(id)) receive(message)
      return true
    },

    receive,

    close(id) {
      const session = sessions.get(id)
      if (session === undefined) return
      sessions.delete(id)
      session.gathered.forEach(release)
      closed.add(id)
      const [oldest] = closed
      if (closed.size > MAX_CLOSED && oldest !== undefined) closed.delete(oldest)
    },
  }
}

type Session = {
  readonly plan: SessionPlan
  /** The next round to deliver. */
  due: number
  /** The number of messages of each sender. */
  readonly spoken: Map<string, number>
  /** Payloads of rounds that were not delivered yet. */
  readonly gathered: Map<number, Map<string, Uint8Array>>
}

/** A sender's messages arrive one by one, and the sequence number determines the round. */
function whyRefused({ plan, spoken }: Session, { kind, sender, sequence, round }: Message): MessageRefusal | null {
  if (kind !== plan.kind) return 'another_ceremony'
  const turns = plan.rounds.flatMap((senders, index) => (senders.includes(sender) ? [index + 1] : []))
  if (turns.length === 0) return 'not_a_participant'
  const expected = spoken.get(sender) ?? 0
  if (sequence < expected) return 'seen_before'
  if (sequence > expected) return 'out_of_sequence'
  return round === turns[sequence] ? null : 'another_round'
}
