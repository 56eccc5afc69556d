/**
 * Signs with shares that lie in this process, each in an engine of its own: the same protocol that parties run over the wire.
 * For recovery kits, where the holders of enough shares have come together; no whole key exists at any moment.
 */
import { randomBytes } from 'node:crypto'
import type { RecoverableSignature } from '../recoverable-signature.ts'
import { createEngine, type Engine } from './engine.ts'
import type { LoadedShare, Messages, Step } from './engine-wire.ts'
import { publicKeyAddress } from './public-key.ts'

const SESSION_BYTES = 32

/** What a share tells of its key. */
export type ShareFacts = Omit<LoadedShare, 'number'> & {
  /** EIP-55, of the public key. */
  readonly address: string
}

/** @throws EngineFailure `invalid` for bytes that are no share, or whose secret does not belong to their public key */
export function shareFacts(share: Uint8Array): ShareFacts {
  const { number: _, ...facts } = createEngine().load(share)
  return { ...facts, address: publicKeyAddress(facts.publicKey) }
}

type Signing = { readonly engine: Engine; readonly party: number; step: Step }

/**
 * A signature over a digest, s in the lower half of the order.
 *
 * @param shares exactly as many as the key's threshold, of different parties and of one epoch
 * @throws EngineFailure when the shares do not fit together
 */
export function signTogether(shares: readonly Uint8Array[], digest: Uint8Array): RecoverableSignature {
  const loaded = shares.map((share) => {
    const engine = createEngine()
    return { engine, share: engine.load(share) }
  })
  const parties = loaded.map(({ share }) => share.party)
  const [finisher] = parties
  if (finisher === undefined) throw new RangeError('nobody signs without a share')
  const sessionId = randomBytes(SESSION_BYTES)
  const signing = loaded.map(({ engine, share }): Signing => {
    const others = parties.filter((party) => party !== share.party)
    return {
      engine,
      party: share.party,
      step: engine.sign({ share: share.number, others, finisher, sessionId, digest }),
    }
  })
  return readSignature(exchange(signing, finisher))
}

/** Hands every message to its receiver, round by round, until the finisher has its result. */
function exchange(signing: readonly Signing[], finisher: number): Uint8Array {
  for (;;) {
    const sent = new Map(signing.map(({ party, step }) => [party, step.outgoing]))
    const done = signing.find(({ party, step }) => party === finisher && step.kind === 'done')
    if (done?.step.kind === 'done') return done.step.result
    for (const one of signing) {
      if (one.step.kind === 'continue') one.step = one.engine.advance(one.step.session, messagesTo(one.party, sent))
    }
  }
}

function messagesTo(receiver: number, sent: ReadonlyMap<number, Messages>): Messages {
  const messages = new Map<number, Uint8Array>()
  for (const [sender, outgoing] of sent) {
    const message = outgoing.get(receiver)
    if (message !== undefined) messages.set(sender, message)
  }
  return messages
}

function readSignature(result: Uint8Array): RecoverableSignature {
  return { signature: result.subarray(0, 64), recoveryId: result[64] ?? 0 }
}
