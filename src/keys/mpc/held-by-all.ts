/**
 * Removes shares of a key only when every party of the key says, over its own authenticated connection, that the log
 * names the same generation to it and that it can open its share of that generation.
 *
 * Invariant: at any time there is a generation that every honest party holds, whatever the coordinator, the log or
 * another party says. A party that is away only delays the removal.
 */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Unavailable } from '../../core/errors.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import type { Channel } from './channel/open-channel.ts'
import { generationOf } from './loaded-shares.ts'
import { encodeMessage, type Message } from './message.ts'
import { partyName, partyNumber } from './party-names.ts'
import { KIND } from './protocol.ts'
import { decodeHeld, decodeHolds, encodeHeld, encodeHolds } from './share-messages.ts'
import type { ShareStore } from './share-store.ts'

/** For one answer, ms: a query and a file. */
const ANSWER_MS = 10_000
/** Questions of one other party that are answered at once; more get no answer. */
const MAX_ANSWERING = 4
/** Keys whose newest promise is remembered; a forgotten one prevents a removal. */
const REMEMBERED = 10_000

export type HeldByAll = {
  /**
   * Runs `remove`, which removes shares of other generations than the one in force, if every party holds that one.
   *
   * @returns whether it ran
   */
  readonly removing: (key: JointKey, remove: () => Promise<void>) => Promise<boolean>
  /** A question or an answer of another party. @throws Unavailable when the log or the share cannot be read */
  readonly receive: (message: Message) => Promise<void>
}

type Promised = { readonly generation: string }

export function createHeldByAll(ports: {
  readonly me: number
  readonly channel: Pick<Channel, 'send' | 'connected'>
  readonly store: Pick<ShareStore, 'load' | 'generationsOf'>
  readonly jointKeysOf: JointKeysOf
  readonly answerMs?: number
}): HeldByAll {
  const { store, jointKeysOf } = ports
  const questions = createQuestions(ports)
  /** What this party last relied on, or told another party: a removal for anything else ends. */
  const promises = new LRUCache<string, Promised>({ max: REMEMBERED })
  /** The generation that a running removal keeps, by key. */
  const kept = new Map<string, string>()
  const answering = new Map<number, number>()

  function promise(keyId: string, generation: string): Promised {
    const before = promises.get(keyId)
    const now = before?.generation === generation ? before : { generation }
    promises.set(keyId, now)
    return now
  }

  /** From a yes on, this party keeps that generation until all parties hold a later one. */
  async function holds(keyId: string, generation: string): Promise<boolean> {
    const key = (await jointKeysOf([keyId])).get(keyId)
    if (key === undefined || generationOf(key) !== generation) return false
    if (!store.generationsOf(keyId).includes(generation)) return false
    const { share, facts } = await store.load(keyId, generation)
    share.fill(0)
    if (facts.publicKey !== key.publicKey) return false
    // No other code runs between these checks and the promise.
    if ((kept.get(keyId) ?? generation) !== generation || !store.generationsOf(keyId).includes(generation)) return false
    promise(keyId, generation)
    return true
  }

  async function answer(party: number, { session, payload }: Message): Promise<void> {
    const question = decodeHolds(payload)
    const already = answering.get(party) ?? 0
    if (question === undefined || already >= MAX_ANSWERING) return
    answering.set(party, already + 1)
    try {
      const isHeld = await holds(question.keyId, question.generation)
      questions.send(party, session, KIND.held, encodeHeld(isHeld))
    } finally {
      answering.set(party, (answering.get(party) ?? 1) - 1)
    }
  }

  return {
    async removing(key, remove) {
      const { keyId } = key
      const generation = generationOf(key)
      const mine = promise(keyId, generation)
      if (!(await questions.othersHold(key, generation))) return false
      // Meanwhile this party may have told another one that it holds a later generation.
      const stands = promises.get(keyId) === mine && !kept.has(keyId)
      if (!stands || !store.generationsOf(keyId).includes(generation)) return false
      kept.set(keyId, generation)
      try {
        await remove()
      } finally {
        kept.delete(keyId)
      }
      return true
    },

    async receive(message) {
      const party = partyNumber(message.sender)
      if (party === undefined) return
      if (message.kind === KIND.holds) await answer(party, message)
      else questions.answered(message.session, party, decodeHeld(message.payload))
    },
  }
}

/** The questions of this party, and the answers of the others. */
function createQuestions({ me, channel, answerMs = ANSWER_MS }: Parameters<typeof createHeldByAll>[0]) {
  const asked = new Map<string, (party: number, isHeld: boolean) => void>()

  function send(party: number, session: string, kind: number, payload: Uint8Array): boolean {
    const address = { sender: partyName(me), receiver: partyName(party), round: 0, sequence: 0 }
    try {
      channel.send(address.receiver, encodeMessage({ session, kind, ...address, payload }))
      return true
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      return false
    }
  }

  return {
    send,

    answered: (session: string, party: number, isHeld: boolean) => asked.get(session)?.(party, isHeld),

    async othersHold({ keyId, parties }: JointKey, generation: string): Promise<boolean> {
      const waitingFor = new Set(parties.filter((party) => party !== me))
      if ([...waitingFor].some((party) => !channel.connected().includes(partyName(party)))) return false
      const session = randomBytes(16).toString('hex')
      const payload = encodeHolds({ keyId, generation })
      let timer: NodeJS.Timeout | undefined
      return new Promise<boolean>((resolve) => {
        timer = setTimeout(() => resolve(false), answerMs)
        asked.set(session, (party, isHeld) => {
          if (!waitingFor.delete(party)) return
          if (!isHeld) resolve(false)
          else if (waitingFor.size === 0) resolve(true)
        })
        if (![...waitingFor].every((party) => send(party, session, KIND.holds, payload))) resolve(false)
      }).finally(() => {
        clearTimeout(timer)
        asked.delete(session)
      })
    },
  }
}
