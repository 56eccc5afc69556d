/** What signatures do: wallets sign messages and typed data. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { signatureAggregate } from './aggregate.ts'
import { explainedSignature } from './explained.ts'
import { signatureWork } from './jobs.ts'
import { createSignRecorded } from './sign-recorded.ts'
import { UNSIGNED_OF_TENANT } from './sql.ts'

export const signatures: Capability = {
  aggregates: [anyAggregate(signatureAggregate)],
  publishes: async () => [(await import('./published.ts')).publishedSignatures],
  explains: [explainedSignature],
  work: [signatureWork],
  usage: { ceremonies: UNSIGNED_OF_TENANT },
  jobs: [
    {
      queue: 'signature',
      process: 'signer',
      concurrency: 8,
      mpcConcurrency: 12,
      handle(needs) {
        const signRecorded = createSignRecorded(needs)
        return ({ signature_id }) => signRecorded(signature_id ?? '')
      },
    },
  ],
  routes: async () => (await import('./build.ts')).buildSignatures,
}
