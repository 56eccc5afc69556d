/** How `explain` reports a signature over a message or typed data. */
import { explained } from '../capability.ts'
import { signatureAggregate } from './aggregate.ts'

export const explainedSignature = explained(signatureAggregate, {
  kind: 'signature',
  noun: 'signature',
  texts: {
    MessageSignatureRequested: ({ walletId, digest }) =>
      `signature of a message requested from wallet ${walletId}, digest ${digest}`,
    TypedDataSignatureRequested: ({ walletId, digest }) =>
      `signature of typed data requested from wallet ${walletId}, digest ${digest}`,
    SignatureMade: () => 'signed',
  },
})
