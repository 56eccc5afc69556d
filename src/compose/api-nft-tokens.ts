/** Operations on minted tokens and vouchers: redeem, revoke, change metadata. */
import type { Routes } from '../http/request.ts'
import { createChangeVoucher } from '../nft/tokens/change-voucher.ts'
import { createFateOf } from '../nft/tokens/fate-of.ts'
import { type TokenRoutePorts, tokenRoutes } from '../nft/tokens/update-routes.ts'
import { createUpdateToken, type UpdateTokenPorts } from '../nft/tokens/update-token.ts'
import { createFactsOf } from '../nft/tokens/voucher-facts.ts'
import { voucherRoutes } from '../nft/tokens/voucher-routes.ts'
import type { Kernel } from './kernel.ts'

type TokenParts = Omit<UpdateTokenPorts, 'fateOf' | 'mints'> &
  Pick<TokenRoutePorts, 'untilMined' | 'ownersOf'> & { readonly mints: TokenRoutePorts['reads'] }

export function composeTokenRoutes({ pool }: Pick<Kernel, 'pool'>, parts: TokenParts): Routes[] {
  const { mints: reads, ownersOf, collections, untilMined } = parts
  const changeVoucher = createChangeVoucher({ ...parts, factsOf: createFactsOf(pool) })
  const updateToken = createUpdateToken({ ...parts, fateOf: createFateOf(pool) })
  return [
    voucherRoutes({ changeVoucher, reads, untilMined }),
    tokenRoutes({ updateToken, reads, ownersOf, collections, untilMined }),
  ]
}
