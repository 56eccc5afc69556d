/**
 * Reports a change that the database cannot store. Untrusted text and numbers are validated before, so this is a
 * defect.
 */
import type { OnSetAside } from '../event-log/append-apart.ts'
import type { Kernel } from './kernel.ts'

export function settingAside({ logger, metrics }: Pick<Kernel, 'logger' | 'metrics'>): OnSetAside {
  return (streamId, error) => {
    metrics.countSetAside()
    logger.error(
      { stream: streamId, err: error },
      'left out a change that the database cannot store; report this as a bug',
    )
  }
}
