/** The signing routes and their dependencies. */
import type { Routes } from '../http/request.ts'
import { createSignatureReads } from '../signatures/read-signatures.ts'
import { createRequestSignature } from '../signatures/request-signature.ts'
import { signatureRoutes } from '../signatures/routes.ts'
import { createWaitForSignature } from '../signatures/wait-for-signature.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'

export function composeSignatureRoutes(
  { log, pool, wakeUps, newId }: Pick<Kernel, 'log' | 'pool' | 'wakeUps' | 'newId'>,
  { accept, findWallet }: Pick<ApiParts, 'accept' | 'findWallet'>,
): Routes {
  return signatureRoutes({
    requestSignature: createRequestSignature({ log, accept, newId, findWallet }),
    findWallet,
    reads: createSignatureReads(pool),
    waitForSignature: createWaitForSignature({ pool, wakeUps }),
  })
}
