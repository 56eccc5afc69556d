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
  /**
   * Resolves once these parties are connected, or after a moment without them: who has just come back may have reached the
   * coordinator before its peers, and what is sent to it until then is lost.
   */
  readonly seated: (parties: readonly number[]) => Promise<void>
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
  /** A party more can be sent to from now on. */
  readonly here: () => void
  /** The connection to a party ended, and what it said may be lost: who waits for it in a session of now waits in vain. */
  readonly gone: (party: number) => void
}

/** Some attempts to connect; shorter than messages are held that came before their session (`early-messages.ts`). */
const SEATING_MS = 2_000
const ENDED = 'its connection ended'
/** Sessions of which it is remembered who has spoken. */
const REMEMBERED = 1_000

type Open = {
  readonly plan: readonly (readonly number[])[]
  readonly complete: Map<number, ReadonlyMap<number, Uint8Array>>
  readonly session: string
  /** Those whose connection has ended since the session began: they may be connected again. */
  readonly lost: Set<number>
  onHere: () => void
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
    table?.complete.set(round, new Map([...payloads].map(([name, payload]) => [partyNumber(name) ?? 0, payload])))
    if (table?.waiting?.round === round) table.waiting.resolve()
  }

  /** Those who have not spoken yet in this round. */
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
          () => reject(new Stalled(missing(table, round)[0] ?? null, `it did not speak within ${roundMs} ms`)),
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
