/** The transitions of a signature. Pure: the signature and the time come with the command. */
import { Conflict, NotFound } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import type { SignatureEvent, SignatureRequested } from './events.ts'
import { evolve, type SignatureState, UNKNOWN_SIGNATURE } from './state.ts'

export type SignatureCommand =
  | { readonly type: 'RequestSignature'; readonly requested: SignatureRequested }
  | { readonly type: 'RecordSignature'; readonly signature: string; readonly now: string }

export const signatureDecider: Decider<SignatureState, SignatureCommand, SignatureEvent> = {
  initialState: UNKNOWN_SIGNATURE,
  evolve,
  decide(command, state) {
    switch (command.type) {
      case 'RequestSignature':
        if (state.type !== 'unknown') throw new Conflict('signature_exists', 'A signature with this id already exists.')
        return [command.requested]
      case 'RecordSignature':
        if (state.type === 'unknown') throw new NotFound('signature')
        // The job ran twice, or in two signers: the first signature is kept.
        if (state.signature !== null) return []
        return [{ type: 'SignatureMade', data: { signature: command.signature, signedAt: command.now } }]
      default:
        return command satisfies never
    }
  },
}
