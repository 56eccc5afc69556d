/**
 * Signs with shares in this process, each in its own engine, with the same protocol that parties run over the network.
 * For recovery kits, when the holders of enough shares work together; no whole key exists at any moment.
 */
import { randomBytes } from 'node:crypto'
import type { RecoverableSignature } from '../recoverable-signature.ts'
import { createEngine, type Engine } from './engine.ts'
import type { LoadedShare, Messages, Step } from './engine-wire.ts'
import { publicKeyAddress } from './public-key.ts'

const SESSION_BYTES = 32

/** The public facts of a share's key. */
export type ShareFacts = Omit<LoadedShare, 'number'> & {
  /** EIP-55, of the public key. */
  readonly address: string
}

/** @throws EngineFailure `invalid` for bytes that are not a share, or whose secret does not match the public key */
export function shareFacts(share: Uint8Array): ShareFacts {
  const { number: _, ...facts } = createEngine().load(share)
  return { ...facts, address: publicKeyAddress(facts.publicKey) }
}

type Signing = { readonly engine: Engine; readonly party: number; step: Step }

/**
 * A signature over a digest, s in the lower half of the order.
 *
 * @param shares exactly the key's threshold, of different parties and of one epoch
 * @throws EngineFailure when the shares do not belong together
 */
export function signTogether(shares: readonly Uint8Array[], digest: Uint8Array): RecoverableSignature {
  const loaded = shares.map((share) => {
    const engine = createEngine()
    return { engine, share: engine.load(share) }
  })
  const parties = loaded.map(({ share }) => share.party)
  const [finisher] = parties
  if (finisher === undefined) throw new RangeError('signing requires a share')
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

/** Delivers every message to its receiver, round by round, until the finisher has its result. */
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
