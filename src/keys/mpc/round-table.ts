/**
 * Where the parties of a session meet: what one sends in a round reaches the others, and a round is over when all who speak
 * in it have spoken. Who does not speak in time, or is gone, is named.
 */
import { LRUCache } from 'lru-cache'
import type { Channel } from './channel/open-channel.ts'
import { encodeMessage, type Message } from './message.ts'
import { partyName, partyNumber } from './party-names.ts'
import { type CompleteRound, createSessionInbox, type MessageRefusal } from './session-inbox.ts'

/** A party did not speak within the time of a round, or its connection ended. */
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
  /** Does nothing when the receiver is not connected: it will be missed soon enough. */
  readonly send: (round: number, party: number, payload: Uint8Array) => void
  /** @throws Stalled */
  readonly gather: (round: number) => Promise<ReadonlyMap<number, Uint8Array>>
  readonly close: () => void
}

export type RoundTables = {
  /**
   * @param plan who speaks to this party in round 1, 2, and so on
   * @returns undefined for a session that was open before
   */
  readonly open: (session: string, plan: readonly (readonly number[])[]) => RoundTable | undefined
  readonly receive: (message: Message) => void
  /** The connection to a party ended: who waits for it waits in vain. */
  readonly gone: (party: number) => void
}

/** Sessions of which it is remembered who has spoken. */
const REMEMBERED = 1_000

type Open = {
  readonly plan: readonly (readonly number[])[]
  readonly complete: Map<number, ReadonlyMap<number, Uint8Array>>
  readonly session: string
  waiting: { readonly round: number; readonly resolve: () => void; readonly reject: (error: Stalled) => void } | null
}

/** @param roundMs how long one round may take */
export function createRoundTables(settings: {
  readonly me: number
  /** The kind of the messages that meet here. */
  readonly kind: number
  readonly channel: Pick<Channel, 'send' | 'connected'>
  readonly roundMs: number
  readonly onRefused: (message: Message, reason: MessageRefusal) => void
}): RoundTables {
  const { me, kind, channel, roundMs, onRefused } = settings
  const tables = new Map<string, Open>()
  /** How many messages each party has sent to a session, those included that came before it was opened. */
  const heard = new LRUCache<string, Map<number, number>>({ max: REMEMBERED })
  const inbox = createSessionInbox({ onRound: complete, onRefused })

  function complete({ session, round, payloads }: CompleteRound): void {
    const table = tables.get(session)
    if (table === undefined) return
    table.complete.set(round, new Map([...payloads].map(([name, payload]) => [partyNumber(name) ?? 0, payload])))
    if (table.waiting?.round === round) table.waiting.resolve()
  }

  function missing(table: Open, round: number): number | null {
    const speakers = table.plan[round - 1] ?? []
    const turnsUntil = (party: number) => table.plan.slice(0, round).filter((each) => each.includes(party)).length
    return speakers.find((party) => (heard.get(table.session)?.get(party) ?? 0) < turnsUntil(party)) ?? null
  }

  async function gather(table: Open, round: number): Promise<ReadonlyMap<number, Uint8Array>> {
    if (!table.complete.has(round)) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve, reject) => {
        table.waiting = { round, resolve, reject }
        timer = setTimeout(
          () => reject(new Stalled(missing(table, round), `it did not speak within ${roundMs} ms`)),
          roundMs,
        )
        const away = missing(table, round)
        if (away !== null && !channel.connected().includes(partyName(away))) {
          reject(new Stalled(away, 'it is not connected'))
        }
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
      const table: Open = { session, plan, complete: new Map(), waiting: null }
      tables.set(session, table)
      const rounds = plan.map((speakers) => speakers.map(partyName))
      if (!inbox.open({ session, kind, rounds })) return undefined
      const sent = new Map<number, number>()
      return {
        send(round, party, payload) {
          const sequence = sent.get(party) ?? 0
          sent.set(party, sequence + 1)
          const receiver = partyName(party)
          if (!channel.connected().includes(receiver)) return
          channel.send(
            receiver,
            encodeMessage({ session, kind, round, sequence, sender: partyName(me), receiver, payload }),
          )
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

    gone(party) {
      for (const table of tables.values()) {
        const { waiting } = table
        if (waiting !== null && missing(table, waiting.round) === party) {
          waiting.reject(new Stalled(party, 'its connection ended'))
        }
      }
    },
  }
}
