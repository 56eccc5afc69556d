/**
 * Signs a message or typed data as it was recorded. Runs in the signer process, as a job.
 *
 * Invariant: what is signed was recorded before, a signature is recorded only when the wallet's address is recovered from it
 * and the recorded digest, and the first one stays: a job that comes twice changes nothing.
 */
import { BursarError, NotFound } from '../core/errors.ts'
import type { EventLog } from '../event-log/log.ts'
import { recoverSigner } from '../keys/recover-signer.ts'
import type { KeyRef, Signer } from '../keys/signer.ts'
import { signatureAggregate } from './projection.ts'
import type { KnownSignature } from './state.ts'

export type SignRecordedPorts = {
  readonly log: EventLog
  readonly signer: Pick<Signer, 'signMessage' | 'signTypedData'>
  /** The key of a wallet. */
  readonly keyOf: (walletId: string) => Promise<KeyRef>
}

/** A signer gave what is not the signature of the wallet's key. Another try may ask others, or the same in a better hour. */
class SignatureMismatch extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'signature_mismatch'
  override readonly retryable = true
  constructor(address: string) {
    super(`The signer's answer is no signature of ${address}: it was thrown away.`)
  }
}

/**
 * @throws NotFound for an unknown signature; Unavailable when the key cannot be reached, SignatureMismatch: the job comes
 *   again
 */
export type SignRecorded = (signatureId: string) => Promise<void>

export function createSignRecorded({ log, signer, keyOf }: SignRecordedPorts): SignRecorded {
  return async (signatureId) => {
    const { state } = await log.load(signatureAggregate, signatureId)
    if (state.type === 'unknown') throw new NotFound('signature')
    if (state.signature !== null) return
    const { tenantId, walletId, address, digest } = state.wish
    const signature = await sign(signer, await keyOf(walletId), signatureId, state)
    if (recoverSigner(digest, signature) !== address) throw new SignatureMismatch(address)
    const metadata = { tenantId, actor: 'worker:signer', causationId: signatureId }
    const command = { type: 'RecordSignature', signature, now: log.now() } as const
    await log.execute(signatureAggregate, signatureId, command, { metadata })
  }
}

function sign(
  { signMessage, signTypedData }: SignRecordedPorts['signer'],
  key: KeyRef,
  id: string,
  state: KnownSignature,
): Promise<string> {
  const intent = { kind: 'signature', id } as const
  return state.type === 'message'
    ? signMessage({ key, intent, message: Buffer.from(state.wish.message.slice(2), 'hex') })
    : signTypedData({ key, intent, typedData: state.wish.typedData })
}
