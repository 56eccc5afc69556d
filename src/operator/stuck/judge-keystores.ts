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
      problem: `${problem} Until then transfers and signatures wait, no wallet of the tenant is created, and nothing is lost.`,
      forMs: null,
      next: [
        step(
          'Restore the keystore to KEYSTORE_DIR, from its backup or its volume: the signers use it without a restart.',
        ),
        step('Keep a copy of the present keystore until nothing waits any more.'),
        step(
          'If there is no copy, restore the seeds from a recovery kit: docs/recovery.md.',
          'npm run recovery -- restore --help',
        ),
      ],
    }))
}
