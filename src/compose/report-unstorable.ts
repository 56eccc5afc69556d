/**
 * Reports a decision that the database cannot store. Untrusted text and numbers are validated before, so this is a
 * defect.
 */
import type { OnUnstorable } from '../event-log/commit.ts'
import type { Kernel } from './kernel.ts'

export function reportUnstorable({ logger, metrics }: Pick<Kernel, 'logger' | 'metrics'>): OnUnstorable {
  return (streamId, error) => {
    metrics.count('bursar_set_aside_total', {})
    logger.error(
      { stream: streamId, err: error },
      'left out a change that the database cannot store; report this as a bug',
    )
  }
}
