/** A kit cannot be made, read or used as asked; the message says why and what to do. It never holds a secret. */
import { BursarError } from '../../core/errors.ts'

export class KitRefused extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'kit_refused'
}
