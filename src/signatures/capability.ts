/** What signatures do: wallets sign messages and typed data. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { signatureAggregate } from './aggregate.ts'
import type { MessageSignatureRequested, TypedDataSignatureRequested } from './events.ts'
import { explainedSignature } from './explained.ts'
import { signatureWork } from './jobs.ts'
import { createSignRecorded } from './sign-recorded.ts'
import { UNSIGNED_OF_TENANT } from './sql.ts'

export const signatures: Capability = {
  aggregates: [anyAggregate(signatureAggregate)],
  publishes: async () => [(await import('./published.ts')).publishedSignatures],
  explains: [explainedSignature],
  past: {
    passing: {
      MessageSignatureRequested: ({ requestedAt, message, ...wallet }: MessageSignatureRequested['data']) => [
        { is: 'signature', requestedAt, wallet, signed: { message } },
      ],
      TypedDataSignatureRequested: ({ requestedAt, typedData, ...wallet }: TypedDataSignatureRequested['data']) => [
        { is: 'signature', requestedAt, wallet, signed: { typedData } },
      ],
    },
  },
  work: [signatureWork],
  usage: { ceremonies: UNSIGNED_OF_TENANT },
  jobs: [
    {
      queue: 'signature',
      process: 'signer',
      concurrency: 8,
      mpcConcurrency: 12,
      handle(needs) {
        const signRecorded = createSignRecorded({ ...needs, problemOf: needs.problems.signature })
        return ({ signature_id }) => signRecorded(signature_id ?? '')
      },
    },
  ],
  routes: async () => (await import('./routes.ts')).signatureRoutes,
}
