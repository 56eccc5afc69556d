import { BursarError } from '../core/errors.ts'

/** A signer gave what is not the signature of the wallet's key. Another try may ask others, or the same in a better hour. */
export class SignatureMismatch extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'signature_mismatch'
  override readonly retryable = true
  constructor(address: string) {
    super(`The signer's answer is no signature of ${address}: it was thrown away.`)
  }
}
