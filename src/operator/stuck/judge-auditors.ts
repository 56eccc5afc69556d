/** Auditors that run and sign nothing. Pure. */
import { FRESH_SECONDS } from '../../wallets/signer-presence.ts'
import { type Finding, step } from '../finding.ts'
import { bursar } from '../words.ts'
import type { ServiceFacts } from './service-facts.ts'

/** A live auditor reports why it signs nothing. */
export function judgeAuditors({ processes }: ServiceFacts): Finding[] {
  return processes
    .filter(
      ({ process, silentMs, problem }) =>
        process === 'auditor' && silentMs <= FRESH_SECONDS * 1_000 && problem !== null,
    )
    .map(({ process, instance, problem }) => ({
      kind: 'audit_stopped',
      subject: `${process} ${instance}`,
      problem: `The auditor signs no checkpoints. ${problem}`,
      forMs: null,
      next: [
        step('Find the first event that differs from what was signed.', bursar('audit verify')),
        step('Read its log: it tries again.', 'docker compose logs --since 10m auditor'),
        step('After a restore: docs/operations.md, "A log that is shorter than the auditor\'s file".'),
      ],
    }))
}
