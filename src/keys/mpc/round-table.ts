/**
 * Exchanges the messages of a session's parties. A round ends when all its senders have sent. A party that does not
 * send in time, or disconnects, is reported.
 */
import { LRUCache } from 'lru-cache'
import type { Channel } from './channel/open-channel.ts'
import { encodeMessage, type Message } from './message.ts'
import { partyName, partyNumber } from './party-names.ts'
import { type CompleteRound, createSessionInbox, type MessageRefusal } from './session-inbox.ts'

/** A party did not send within the time of a round, or its connection ended. */
export class Stalled extends Error {
  override readonly name = 'Stalled'
  /** Null when the whole session was given up. */
  readonly party: number | null

  constructor(party: number | null, reason: string) {
    super(reason)
    this.party = party
  }
}

export type RoundTable = {
  /**
   * Resolves once these parties are connected, or after a short timeout without them: a party that has just reconnected
   * may have reached the coordinator before its peers, and messages to it until then are lost.
   */
  readonly seated: (parties: readonly number[]) => Promise<void>
  /** Does nothing when the receiver is not connected: the round then times out. */
  readonly send: (round: number, party: number, payload: Uint8Array) => void
  /** @throws Stalled */
  readonly gather: (round: number) => Promise<ReadonlyMap<number, Uint8Array>>
  readonly close: () => void
}

export type RoundTables = {
  /**
   * @param plan the senders to this party in round 1, 2, and so on
   * @returns undefined for a session that was open before
   */
  readonly open: (session: string, plan: readonly (readonly number[])[]) => RoundTable | undefined
  readonly receive: (message: Message) => void
  /** Another party has become reachable. */
  readonly here: () => void
  /** The connection to a party ended, and its messages may be lost: current sessions stop waiting for it. */
  readonly gone: (party: number) => void
}

/** Several connection attempts; shorter than early messages are kept (`early-messages.ts`). */
const SEATING_MS = 2_000
const ENDED = 'its connection ended'
/** Sessions whose senders are remembered. */
const REMEMBERED = 1_000

type Open = {
  readonly plan: readonly (readonly number[])[]
  readonly complete: Map<number, ReadonlyMap<number, Uint8Array>>
  readonly session: string
  /** Parties whose connection ended since the session began; they may have reconnected. */
  readonly lost: Set<number>
  onHere: () => void
  waiting: { readonly round: number; readonly resolve: () => void; readonly reject: (error: Stalled) => void } | null
}

/** @param roundMs time limit of one round */
export function createRoundTables(settings: {
  readonly me: number
  /** The kind of the messages exchanged here. */
  readonly kind: number
  readonly channel: Pick<Channel, 'send' | 'connected'>
  readonly roundMs: number
  readonly onRefused: (message: Message, reason: MessageRefusal) => void
}): RoundTables {
  const { me, kind, channel, roundMs, onRefused } = settings
  const tables = new Map<string, Open>()
  /** The number of messages of each party in a session, including those before it was opened. */
  const heard = new LRUCache<string, Map<number, number>>({ max: REMEMBERED })
  const inbox = createSessionInbox({ onRound: complete, onRefused })

  function complete({ session, round, payloads }: CompleteRound): void {
    const table = tables.get(session)
    table?.complete.set(round, new Map([...payloads].map(([name, payload]) => [partyNumber(name) ?? 0, payload])))
    if (table?.waiting?.round === round) table.waiting.resolve()
  }

  /** The parties that have not sent in this round yet. */
  function missing({ plan, session }: Open, round: number): number[] {
    const turnsUntil = (party: number) => plan.slice(0, round).filter((each) => each.includes(party)).length
    const spoken = heard.get(session)
    return (plan[round - 1] ?? []).filter((party) => (spoken?.get(party) ?? 0) < turnsUntil(party))
  }

  const isAway = (party: number) => !channel.connected().includes(partyName(party))

  async function gather(table: Open, round: number): Promise<ReadonlyMap<number, Uint8Array>> {
    if (!table.complete.has(round)) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve, reject) => {
        table.waiting = { round, resolve, reject }
        timer = setTimeout(
          () => reject(new Stalled(missing(table, round)[0] ?? null, `it sent nothing for ${roundMs} ms`)),
          roundMs,
        )
        const away = missing(table, round).find((party) => table.lost.has(party) || isAway(party))
        if (away !== undefined) reject(new Stalled(away, table.lost.has(away) ? ENDED : 'it is not connected'))
      }).finally(() => {
        clearTimeout(timer)
        table.waiting = null
      })
    }
    const payloads = table.complete.get(round) ?? new Map()
    table.complete.delete(round)
    return payloads
  }

  return {
    open(session, plan) {
      const table = newTable(session, plan)
      tables.set(session, table)
      const rounds = plan.map((speakers) => speakers.map(partyName))
      if (!inbox.open({ session, kind, rounds })) return undefined
      const sent = new Map<number, number>()
      return {
        seated: (parties) => seated(table, () => !parties.some(isAway)),
        send(round, party, payload) {
          const sequence = sent.get(party) ?? 0
          sent.set(party, sequence + 1)
          if (isAway(party)) return
          const address = { sender: partyName(me), receiver: partyName(party) }
          channel.send(address.receiver, encodeMessage({ session, kind, round, sequence, ...address, payload }))
        },
        gather: (round) => gather(table, round),
        close() {
          tables.delete(session)
          inbox.close(session)
        },
      }
    },

    receive(message) {
      const party = partyNumber(message.sender)
      const counts = heard.get(message.session) ?? new Map<number, number>()
      if (party !== undefined) heard.set(message.session, counts.set(party, (counts.get(party) ?? 0) + 1))
      inbox.receive(message)
    },

    here() {
      for (const table of tables.values()) table.onHere()
    },

    gone(party) {
      for (const table of tables.values()) {
        table.lost.add(party)
        if (table.waiting !== null && missing(table, table.waiting.round).includes(party))
          table.waiting.reject(new Stalled(party, ENDED))
      }
    },
  }
}

function newTable(session: string, plan: Open['plan']): Open {
  return { session, plan, complete: new Map(), lost: new Set(), onHere: () => undefined, waiting: null }
}

async function seated(table: Open, allAreHere: () => boolean): Promise<void> {
  if (allAreHere()) return
  let timer: NodeJS.Timeout | undefined
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, SEATING_MS)
    table.onHere = () => {
      if (allAreHere()) resolve()
    }
  })
  clearTimeout(timer)
}
