/** What is done to tokens after they were asked for: vouchers redeemed and revoked, metadata changed. */
import type { Routes } from '../http/request.ts'
import { createFateOf } from '../nft/tokens/fate-of.ts'
import { type TokenRoutePorts, tokenRoutes } from '../nft/tokens/routes.ts'
import { createUpdateToken, type UpdateTokenPorts } from '../nft/tokens/update-token.ts'
import { createChangeVoucher } from '../nft/vouchers/change-voucher.ts'
import { voucherRoutes } from '../nft/vouchers/routes.ts'
import { createFactsOf } from '../nft/vouchers/voucher-facts.ts'
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
