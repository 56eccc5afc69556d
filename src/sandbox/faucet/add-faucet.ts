/** The sandbox's additions to the API: the faucet, and its funds for wallets that a capability opens. */
import type { ApiContext } from '../../api-context.ts'
import type { ApiAdditions } from '../../compose/api.ts'
import { createFundWallet } from './fund-wallet.ts'
import { faucetRoutes } from './routes.ts'

export function addFaucet(ctx: ApiContext): ApiAdditions {
  return { routes: [faucetRoutes(ctx)], fundWallet: createFundWallet(ctx) }
}
