/** The routes of signatures, with their use cases. */
import type { RouteNeeds } from '../capability.ts'
import { createSignatureReads } from './read-signatures.ts'
import { createRequestSignature } from './request-signature.ts'
import { signatureRoutes } from './routes.ts'
import { createWaitForSignature } from './wait-for-signature.ts'

type Needs = Pick<RouteNeeds, 'log' | 'pool' | 'wakeUps' | 'newId' | 'accept' | 'findWallet' | 'isManaged'> & {
  readonly config: Pick<RouteNeeds['config'], 'spendingTypedData'>
}

export function buildSignatures({ log, pool, wakeUps, newId, accept, findWallet, isManaged, config }: Needs) {
  const { spendingTypedData } = config
  return signatureRoutes({
    requestSignature: createRequestSignature({ log, accept, newId, findWallet, isManaged, spendingTypedData }),
    findWallet,
    reads: createSignatureReads(pool),
    waitForSignature: createWaitForSignature({ pool, wakeUps }),
  })
}
