/**
 * Joint keys created and refreshed in this process, each party in its own engine, with the messages that parties
 * exchange.
 */
import { randomBytes } from 'node:crypto'
import { createEngine, type Engine } from '../../src/keys/mpc/engine.ts'
import type { Step } from '../../src/keys/mpc/engine-wire.ts'

type Session = { readonly engine: Engine; readonly party: number; step: Step }

/** The shares of a new key, party 1 first. */
export function makeShares(threshold: number, parties: number): Uint8Array[] {
  const sessionId = randomBytes(32)
  return run(
    Array.from({ length: parties }, (_, index): Session => {
      const engine = createEngine()
      const party = index + 1
      return { engine, party, step: engine.generate({ party, threshold, parties, sessionId }) }
    }),
  )
}

/** New shares of the same key. */
export function refreshShares(shares: readonly Uint8Array[]): Uint8Array[] {
  const refreshId = randomBytes(32)
  return run(
    shares.map((bytes): Session => {
      const engine = createEngine()
      const { number: share, party } = engine.load(bytes)
      return { engine, party, step: engine.refresh({ share, refreshId }) }
    }),
  )
}

/** Delivers every message to its receiver until all have their results. */
function run(sessions: readonly Session[]): Uint8Array[] {
  while (sessions.some(({ step }) => step.kind === 'continue')) {
    const sent = sessions.map(({ party, step }) => [party, step.outgoing] as const)
    for (const session of sessions) {
      if (session.step.kind === 'done') continue
      const incoming = sent.flatMap(([from, outgoing]) => {
        const message = outgoing.get(session.party)
        return message === undefined ? [] : [[from, message] as const]
      })
      session.step = session.engine.advance(session.step.session, new Map(incoming))
    }
  }
  return sessions.map(({ step }) => {
    if (step.kind !== 'done') throw new Error('a session did not end')
    return Uint8Array.from(step.result)
  })
}
