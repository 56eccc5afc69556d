/** The routes of NFTs, in the order of the API document. */
import type { ApiPart, RouteContext } from '../api-context.ts'
import { collectionRoutes } from './collections/routes.ts'
import { metadataRoutes } from './metadata/routes.ts'
import { walletTokenRoutes } from './ownership/routes.ts'
import { mintRoutes } from './tokens/mint-routes.ts'
import { tokenRoutes } from './tokens/update-routes.ts'
import { voucherRoutes } from './tokens/voucher-routes.ts'
import { nftTransferRoutes } from './transfers/routes.ts'

/**
 * Of metadata, collections, mints, vouchers, tokens, transfers, and what a wallet holds. A collection's issuer is funded by what
 * an installation adds (`fundIssuer`).
 */
export function nftApi(ctx: RouteContext): ApiPart {
  return {
    routes: [
      metadataRoutes(ctx),
      collectionRoutes(ctx),
      mintRoutes(ctx),
      voucherRoutes(ctx),
      tokenRoutes(ctx),
      nftTransferRoutes(ctx),
      walletTokenRoutes(ctx),
    ],
  }
}
