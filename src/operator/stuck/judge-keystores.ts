/** Signers whose keystore did not create the wallets. Pure. */
import { FRESH_SECONDS } from '../../wallets/signer-presence.ts'
import { type Finding, step } from '../finding.ts'
import type { ServiceFacts } from './service-facts.ts'

/** A live signer reports that its keystore is not the expected one. */
export function judgeKeystores({ processes }: ServiceFacts): Finding[] {
  return processes
    .filter(
      ({ process, silentMs, problem }) => process === 'signer' && silentMs <= FRESH_SECONDS * 1_000 && problem !== null,
    )
    .map(({ process, instance, problem }) => ({
      kind: 'keystore_wrong',
      subject: `${process} ${instance}`,
      problem: `${problem} Until then transfers and signatures wait, no wallet of it is made, and nothing is lost.`,
      forMs: null,
      next: [
        step(
          'Put the keystore back in the place that KEYSTORE_DIR names, from its backup or its volume: the signers find it, without a restart.',
        ),
        step('Keep what is there now beside it, until nothing waits any more.'),
        step(
          'If no copy is left, recovery kits have the seeds: docs/recovery.md.',
          'npm run recovery -- restore --help',
        ),
      ],
    }))
}
