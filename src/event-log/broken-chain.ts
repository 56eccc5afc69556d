/** The error of a stream that cannot be read to its end. */
import { BursarError } from '../core/errors.ts'

/** A stream cannot be read past one of its events: it was changed after it was appended, or never was a valid one. */
export class BrokenChain extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'broken_chain'

  /** @param problem as a sentence */
  constructor(problem: string) {
    super(`${problem} An operator must examine it: npm run bursar -- audit verify; docs/operations.md, "A bad event".`)
  }
}
