import { BursarError } from '../core/errors.ts'

/**
 * A signer returned bytes that are not a signature of the wallet's key. A retry may use other parties, or succeed
 * later.
 */
export class SignatureMismatch extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'signature_mismatch'
  override readonly retryable = true
  constructor(address: string) {
    super(`The signer returned a signature that is not of ${address}: it was discarded.`)
  }
}
