/**
 * The log, or the tree beside it, contradicts what was signed before. Nothing more is signed until an operator has
 * investigated.
 */
import { BursarError } from '../../core/errors.ts'

export class TreeDamaged extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'audit_contradiction'

  /** @param what the contradiction, as a sentence without its full stop */
  constructor(what: string) {
    super(`${what}: run audit verify, which finds the first changed event.`)
  }
}
