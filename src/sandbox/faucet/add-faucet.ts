/** The sandbox's additions to the API: the faucet, and its funds for issuer wallets. */
import type { ApiContext } from '../../api-context.ts'
import type { ApiAdditions } from '../../compose/api.ts'
import { createFundIssuer } from './fund-issuer.ts'
import { faucetRoutes } from './routes.ts'

export function addFaucet(ctx: ApiContext): ApiAdditions {
  return { routes: [faucetRoutes(ctx)], fundIssuer: createFundIssuer(ctx) }
}
