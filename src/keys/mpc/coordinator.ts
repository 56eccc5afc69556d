/**
 * Requests ceremonies from the parties and collects their answers. It holds no share and the parties do not trust it:
 * it can only choose participants and retry.
 */
import { randomBytes } from 'node:crypto'
import { Unavailable } from '../../core/errors.ts'
import type { Channel } from './channel/open-channel.ts'
import { encodeMessage, readMessage } from './message.ts'
import { COORDINATOR, partyName, partyNumber } from './party-names.ts'
import {
  type Begin,
  decodeOutcome,
  encodeBegin,
  encodeSettle,
  type ItemOutcome,
  KIND,
  type Refusal,
} from './protocol.ts'

/**
 * The answer of each party. A party that did not answer has `stalled` for all items, unless earlier answers were
 * enough: then it was not awaited and is left out.
 */
export type Answers = ReadonlyMap<number, readonly ItemOutcome[]>

export type Coordinator = {
  /** The reachable parties, most recently heard first. */
  readonly reachable: () => readonly number[]
  /**
   * Begins a ceremony in a new session and waits for the answers.
   *
   * @param enough whether the answers so far make waiting for the others unnecessary
   * @throws Unavailable `mpc_parties_unavailable` when one of them is not connected: nothing was begun
   */
  readonly ask: (
    parties: readonly number[],
    begin: Begin,
    options: { readonly timeoutMs: number; readonly enough?: (answers: Answers) => boolean },
  ) => Promise<Answers>
  /** Notifies all parties that the log names new shares of a key. A lost notification does no harm. */
  readonly settle: (keyId: string) => void
}

type Asked = {
  readonly waitingFor: Set<number>
  readonly answers: Map<number, readonly ItemOutcome[]>
  readonly check: () => void
}

export function createCoordinator({ channel }: { readonly channel: Channel }): Coordinator {
  const asked = new Map<string, Asked>()

  channel.onFrame((from, frame) => {
    const message = readMessage(frame, from, COORDINATOR)
    const party = partyNumber(from)
    if ('refused' in message || message.kind !== KIND.outcome || party === undefined) return
    const session = asked.get(message.session)
    const outcome = decodeOutcome(message.payload)
    if (session === undefined || outcome === undefined || !session.waitingFor.delete(party)) return
    session.answers.set(party, outcome)
    session.check()
  })

  channel.onGone((peer) => {
    const party = partyNumber(peer)
    if (party === undefined) return
    for (const session of asked.values()) if (session.waitingFor.delete(party)) session.check()
  })

  function send(party: number, session: string, kind: number, payload: Uint8Array): void {
    const receiver = partyName(party)
    const address = { sender: COORDINATOR, receiver, round: 0, sequence: 0 }
    channel.send(receiver, encodeMessage({ session, kind, ...address, payload }))
  }

  const reachable = () => channel.connected().flatMap((peer) => partyNumber(peer) ?? [])

  return {
    reachable,

    async ask(parties, begin, { timeoutMs, enough = () => false }) {
      const here = reachable()
      const away = parties.filter((party) => !here.includes(party))
      if (away.length > 0) throw partiesUnavailable(away)
      const session = randomBytes(16).toString('hex')
      const payload = encodeBegin(begin)
      const answers = new Map<number, readonly ItemOutcome[]>()
      const waitingFor = new Set(parties)
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        const check = () => {
          if (waitingFor.size === 0 || enough(answers)) resolve()
        }
        asked.set(session, { waitingFor, answers, check })
        timer = setTimeout(resolve, timeoutMs)
        for (const party of parties) {
          try {
            send(party, session, KIND.begin, payload)
          } catch (error) {
            if (!(error instanceof Unavailable)) throw error
            waitingFor.delete(party)
          }
        }
        check()
      }).finally(() => {
        clearTimeout(timer)
        asked.delete(session)
      })
      if (enough(answers)) return answers
      const items = begin.ceremony === 'sign' ? begin.items.length : 1
      return new Map(parties.map((party) => [party, answers.get(party) ?? silence(party, items)]))
    },

    settle(keyId) {
      const session = randomBytes(16).toString('hex')
      for (const party of reachable()) send(party, session, KIND.settle, encodeSettle([keyId]))
    },
  }
}

export function partiesUnavailable(away: readonly number[]): Unavailable {
  const names = away.map(partyName).join(', ')
  return new Unavailable(
    'mpc_parties_unavailable',
    `Not reachable: ${names}. Requests wait until they are: start them, or check their logs.`,
  )
}

function silence(party: number, items: number): readonly ItemOutcome[] {
  const refusal: Refusal = { kind: 'stalled', party, reason: 'it did not answer' }
  return Array.from({ length: items }, () => ({ ok: false, refusal }))
}
