/** The log, or the tree that is kept beside it, is not what was signed before. Nothing more is signed until a person has looked. */
import { BursarError } from '../../core/errors.ts'

export class TreeDamaged extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'audit_contradiction'

  /** @param what contradicts, as a whole sentence without its full stop */
  constructor(what: string) {
    super(`${what}: run audit verify, which names the first event that is not as it was.`)
  }
}
