/** The sandbox's additions to the API: the faucet, and its funds for issuer wallets. */
import type { ApiAdditions } from '../../compose/api.ts'
import type { Kernel } from '../../compose/kernel.ts'
import type { TransactionParts } from '../../compose/transaction-parts.ts'
import { createFundIssuer } from './fund-issuer.ts'
import { faucetRoutes } from './routes.ts'

export function addFaucet(kernel: Kernel, { requestTransfer, reads }: TransactionParts): ApiAdditions {
  return {
    routes: [faucetRoutes({ pool: kernel.pool, requestTransfer, reads })],
    fundIssuer: createFundIssuer(kernel, { requestTransfer }),
  }
}
