/**
 * One party: holds shares, takes part in ceremonies that a coordinator begins, and trusts nobody. The coordinator
 * chooses participants and requests; the party reads in the log what a share may be used for.
 */
import type { Channel } from './channel/open-channel.ts'
import { nameOfHandle } from './channel/shared-handle.ts'
import type { HeldByAll } from './held-by-all.ts'
import { encodeMessage, type FrameRefusal, type Message, readMessage } from './message.ts'
import { BanNotKept } from './party-bans.ts'
import { COORDINATOR, partyName, partyNumber } from './party-names.ts'
import { refuseAll, type SessionContext, takePart, unavailable } from './party-session.ts'
import { type Begin, decodeBegin, decodeSettle, encodeOutcome, type ItemOutcome, KIND } from './protocol.ts'
import { refusalOf } from './refusal-error.ts'
import { createRoundTables, type RoundTables } from './round-table.ts'
import type { MessageRefusal } from './session-inbox.ts'

/** Concurrent sessions; beyond this the coordinator gets `busy`. */
const MAX_SESSIONS = 64

/** Events for metrics and logs. */
export type PartyObserver = {
  readonly onSession: (ended: {
    ceremony: string
    items: number
    refused: readonly string[]
    durationMs: number
  }) => void
  readonly onRefusedMessage: (refused: {
    from: string
    reason: MessageRefusal | FrameRefusal | 'not_asked_for'
  }) => void
  readonly onFailure: (error: unknown, ceremony: string) => void
}

export type Party = {
  /** Accepts no new session, and resolves when the running ones have ended. */
  readonly drain: () => Promise<void>
}

export function createParty(
  ports: Omit<SessionContext, 'tables'> & {
    readonly channel: Channel
    /** The log has named new shares of these keys: shares that it no longer names can be removed. */
    readonly settle: (keyIds: readonly string[]) => Promise<void>
    /** Answers the questions of other parties about the shares that this one holds. */
    readonly heldByAll: Pick<HeldByAll, 'receive'>
    /** Time limit of one round of a ceremony, ms. */
    readonly roundMs: { readonly signing: number; readonly ceremonies: number }
    readonly observe: PartyObserver
  },
): Party {
  const { me, channel, observe, roundMs } = ports
  const running = new Set<Promise<void>>()
  let draining = false
  const onRefused = ({ sender }: Message, reason: MessageRefusal) => observe.onRefusedMessage({ from: sender, reason })
  const tables = {
    signing: createRoundTables({ me, kind: KIND.signingRound, channel, roundMs: roundMs.signing, onRefused }),
    ceremonies: createRoundTables({ me, kind: KIND.ceremonyRound, channel, roundMs: roundMs.ceremonies, onRefused }),
  }
  const ctx = { ...ports, tables }

  tellWhoIsThere(channel, Object.values(tables))

  channel.onFrame((from, frame) => {
    const message = readMessage(frame, nameOfHandle(from), partyName(me))
    if ('refused' in message) return observe.onRefusedMessage({ from, reason: message.refused })
    if (partyNumber(from) !== undefined) {
      if (message.kind === KIND.signingRound) tables.signing.receive(message)
      else if (message.kind === KIND.ceremonyRound) tables.ceremonies.receive(message)
      else if (message.kind === KIND.holds || message.kind === KIND.held)
        void ports.heldByAll.receive(message).catch((error) => observe.onFailure(error, 'settle'))
      else observe.onRefusedMessage({ from, reason: 'not_asked_for' })
      return
    }
    if (nameOfHandle(from) === COORDINATOR) obey(from, message)
    else observe.onRefusedMessage({ from, reason: 'not_asked_for' })
  })

  function obey(from: string, message: Message): void {
    const begin = message.kind === KIND.begin ? decodeBegin(message.payload) : undefined
    const keyIds = message.kind === KIND.settle ? decodeSettle(message.payload) : undefined
    if (begin !== undefined) track(serve(from, message.session, begin))
    else if (keyIds !== undefined) track(ports.settle(keyIds).catch((error) => observe.onFailure(error, 'settle')))
    else observe.onRefusedMessage({ from: message.sender, reason: 'not_asked_for' })
  }

  function track(work: Promise<void>): void {
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  async function serve(coordinator: string, session: string, begin: Begin): Promise<void> {
    const began = performance.now()
    const outcome = await takePartUnlessBusy(session, begin).catch((error: unknown) => {
      if (error instanceof BanNotKept) {
        observe.onFailure(error, begin.ceremony)
        return null
      }
      const refusal = refusalOf(error)
      if (refusal.kind === 'unavailable') observe.onFailure(error, begin.ceremony)
      return refuseAll(begin, refusal)
    })
    // Any answer would reveal a ban that a crash could still undo.
    if (outcome === null) return
    const refused = outcome.flatMap((item) => (item.ok ? [] : [item.refusal.kind]))
    const durationMs = performance.now() - began
    observe.onSession({ ceremony: begin.ceremony, items: outcome.length, refused, durationMs })
    answer(coordinator, session, outcome)
  }

  async function takePartUnlessBusy(session: string, begin: Begin): Promise<readonly ItemOutcome[]> {
    if (draining) return refuseAll(begin, unavailable('the party is stopping'))
    if (running.size > MAX_SESSIONS) return refuseAll(begin, unavailable('the party is overloaded'))
    return takePart(ctx, session, begin)
  }

  function answer(coordinator: string, session: string, outcome: readonly ItemOutcome[]): void {
    // A disconnected coordinator asks again in another session.
    if (!channel.connected().includes(coordinator)) return
    const payload = encodeOutcome(outcome)
    const address = { sender: partyName(me), receiver: COORDINATOR }
    channel.send(
      coordinator,
      encodeMessage({ session, kind: KIND.outcome, round: 0, sequence: 0, ...address, payload }),
    )
  }

  return {
    async drain() {
      draining = true
      await Promise.allSettled(running)
    },
  }
}

function tellWhoIsThere(channel: Channel, tables: readonly RoundTables[]): void {
  channel.onHere(() => {
    for (const each of tables) each.here()
  })
  channel.onGone((peer) => {
    const party = partyNumber(peer)
    if (party !== undefined) for (const each of tables) each.gone(party)
  })
}
