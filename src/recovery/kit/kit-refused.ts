/**
 * A kit cannot be created, read or used as requested; the message says why and what to do. It never contains a secret.
 */
import { BursarError } from '../../core/errors.ts'

export class KitRefused extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'kit_refused'
}
