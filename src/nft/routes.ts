/** The routes of NFTs, in the order of the API document. */
import type { ApiPart, RouteContext } from '../api-context.ts'
import { createInTurn } from '../core/in-turn.ts'
import { createCollectionReads } from './collections/read-collections.ts'
import { collectionRoutes } from './collections/routes.ts'
import { pinOn } from './metadata/pin.ts'
import { metadataRoutes } from './metadata/routes.ts'
import type { NftContext } from './nft-context.ts'
import { walletTokenRoutes } from './ownership/routes.ts'
import { createAllot } from './tokens/allot.ts'
import { mintRoutes } from './tokens/mint-routes.ts'
import { tokenRoutes } from './tokens/update-routes.ts'
import { voucherRoutes } from './tokens/voucher-routes.ts'
import { createUntilVoucherSigned } from './tokens/wait-for-signature.ts'
import { nftTransferRoutes } from './transfers/routes.ts'

/** Of metadata, collections, mints, vouchers, tokens, transfers, and what a wallet holds. */
export function nftApi(given: RouteContext): ApiPart {
  const { pool, wakeUps } = given
  const ctx: RouteContext & NftContext = {
    collections: createCollectionReads(pool),
    allot: createAllot(pool),
    inTurn: createInTurn(),
    untilVoucherSigned: createUntilVoucherSigned(pool, wakeUps),
    pin: pinOn(given),
    ...given,
  }
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
