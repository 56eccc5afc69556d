/** How a coordinator handles answers: late parties, and parties that were not awaited. */
import t from 'tap'
import type { Channel } from '../../src/keys/mpc/channel/open-channel.ts'
import { createCoordinator } from '../../src/keys/mpc/coordinator.ts'
import { encodeMessage, readMessage } from '../../src/keys/mpc/message.ts'
import { COORDINATOR, partyName } from '../../src/keys/mpc/party-names.ts'
import { type Begin, encodeOutcome, KIND } from '../../src/keys/mpc/protocol.ts'
import { matchExactly } from '../support/match-exactly.ts'

const BEGIN: Begin = { ceremony: 'generate', keyId: 'key_1', threshold: 2, parties: [1, 2] }
const RESULT = { ok: true, result: Buffer.from('done') } as const

/** A channel to parties 1 and 2, of which only the first one answers, immediately. */
function withOneThatAnswers() {
  let hear: (from: string, frame: Uint8Array) => void = () => undefined
  const channel: Channel = {
    port: null,
    connected: () => [1, 2].map(partyName),
    onFrame: (listener) => {
      hear = listener
    },
    onHere: () => undefined,
    onGone: () => undefined,
    close: async () => undefined,
    send(to, frame) {
      const message = readMessage(frame, COORDINATOR, to)
      if ('refused' in message || to !== partyName(1)) return
      const payload = encodeOutcome([RESULT])
      const answer = { ...message, kind: KIND.outcome, sender: to, receiver: COORDINATOR, payload }
      setImmediate(() => hear(to, encodeMessage(answer)))
    },
  }
  return createCoordinator({ channel })
}

t.test('a party that does not answer in time has stalled', async (t) => {
  const answers = await withOneThatAnswers().ask([1, 2], BEGIN, { timeoutMs: 100 })
  matchExactly(t, answers.get(1), [RESULT])
  matchExactly(t, answers.get(2), [{ ok: false, refusal: { kind: 'stalled', party: 2 } }])
})

t.test('no party is blamed for an answer that was no longer awaited', async (t) => {
  const answers = await withOneThatAnswers().ask([1, 2], BEGIN, { timeoutMs: 60_000, enough: (so) => so.has(1) })
  t.strictSame([...answers.keys()], [1])
})
