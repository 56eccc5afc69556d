/**
 * The guard before ceremonies: lets each message of an open session through once, in its turn, and gathers a round until all
 * who speak in it have spoken. Everything else is refused with a reason; nothing here throws at a message.
 */
import { createEarlyMessages } from './early-messages.ts'
import type { Message } from './message.ts'

/** What is gathered of all sessions together; beyond it somebody floods us. */
const MAX_GATHERED_BYTES = 64 * 1024 * 1024
/** How many finished sessions are remembered, so that a message of one is known for what it is. */
const MAX_CLOSED = 10_000

export type SessionPlan = {
  readonly session: string
  readonly kind: number
  /** Who sends us a message in the first round, in the second, and so on: rounds are numbered from 1. */
  readonly rounds: readonly (readonly string[])[]
}

/** What everybody who speaks in a round sent, by name. */
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

export type SessionInboxOptions = {
  /** Called when a round is complete and all before it were: each round once, in order. */
  readonly onRound: (round: CompleteRound) => void
  /** To be logged and counted: a peer that is at fault, or a session that is over. */
  readonly onRefused: (message: Message, reason: MessageRefusal) => void
  /** A clock in milliseconds. */
  readonly now?: () => number
}

export type SessionInbox = {
  /**
   * Expects the messages of a session from now on. Some may have come a moment too early, so that a round may be complete
   * before this returns.
   *
   * @returns false when this session was opened before: an id is never used twice
   */
  readonly open: (plan: SessionPlan) => boolean
  /** @param message as `readMessage` gave it: its sender and its receiver are right */
  readonly receive: (message: Message) => void
  /** Forgets what was gathered; whatever still comes is refused. */
  readonly close: (session: string) => void
}

export function createSessionInbox({ onRound, onRefused, now = Date.now }: SessionInboxOptions): SessionInbox {
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
    // The listener may close the session: then there is no further round.
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
  /** The round that is handed over next. */
  due: number
  /** How many messages each sender has sent. */
  readonly spoken: Map<string, number>
  /** What was sent for rounds that were not handed over yet. */
  readonly gathered: Map<number, Map<string, Uint8Array>>
}

/** A sender's messages come one by one, and the how-manieth it is says in which round it must be. */
function whyRefused({ plan, spoken }: Session, { kind, sender, sequence, round }: Message): MessageRefusal | null {
  if (kind !== plan.kind) return 'another_ceremony'
  const turns = plan.rounds.flatMap((senders, index) => (senders.includes(sender) ? [index + 1] : []))
  if (turns.length === 0) return 'not_a_participant'
  const expected = spoken.get(sender) ?? 0
  if (sequence < expected) return 'seen_before'
  if (sequence > expected) return 'out_of_sequence'
  return round === turns[sequence] ? null : 'another_round'
}
