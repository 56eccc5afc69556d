/** What signatures do: wallets sign messages and typed data. */
import { type Capability, explained } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { streamWork } from '../jobs/work.ts'
import { signatureAggregate } from './aggregate.ts'
import { coverSignature } from './cover-signature.ts'
import type { MessageSignatureRequested, SignatureEvent, TypedDataSignatureRequested } from './events.ts'
import { signatureProblem, signRecorded } from './sign-recorded.ts'

/** Waits for a signer. */
export const UNSIGNED = 'signature IS NULL'

/** How many signatures of the tenant `$1` wait. */
const UNSIGNED_OF_TENANT = `SELECT count(*) FROM signatures WHERE tenant_id = $1 AND ${UNSIGNED}`

/** The work of signatures: requests that wait for their signature. */
export const signatureWork = streamWork<SignatureEvent>({
  name: 'signatures',
  queue: 'signature',
  category: 'signature',
  field: 'signature_id',
  from: ['MessageSignatureRequested', 'TypedDataSignatureRequested'],
  waiting: `SELECT signature_id AS id, tenant_id, created_at AS at FROM signatures WHERE ${UNSIGNED} AND created_at < $1`,
  owners: { wallets: 'SELECT signature_id AS id, wallet_id FROM signatures WHERE signature_id = ANY ($1)' },
})

/** How `explain` reports a signature over a message or typed data. */
const explainedSignature = explained(signatureAggregate, {
  prefix: 'sig',
  noun: 'signature',
  texts: {
    MessageSignatureRequested: ({ walletId, digest }) =>
      `signature of a message requested from wallet ${walletId}, digest ${digest}`,
    TypedDataSignatureRequested: ({ walletId, digest }) =>
      `signature of typed data requested from wallet ${walletId}, digest ${digest}`,
    SignatureMade: () => 'signed',
  },
})

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
  covers: { signature: coverSignature },
  usage: { ceremonies: UNSIGNED_OF_TENANT },
  jobs: [
    {
      queue: 'signature',
      process: 'signer',
      seesSeeds: false,
      concurrency: 8,
      mpcConcurrency: 12,
      handle: ({ problemOf, ...needs }) => {
        const problems = { signature: problemOf('signature_id', signatureProblem) }
        return ({ signature_id }) => signRecorded({ ...needs, problems }, signature_id ?? '')
      },
    },
  ],
  routes: async () => (await import('./routes.ts')).signatureApi,
}
