/** The routes of collections, mints, transfers and wallets' tokens, and their dependencies. */
import { createCanReceive } from '../chain/nft-receiver.ts'
import type { Routes } from '../http/request.ts'
import { createIssuerWallet, type FundIssuer } from '../nft/collections/issuer-wallet.ts'
import { createCollectionReads } from '../nft/collections/read-collections.ts'
import { createRequestCollection } from '../nft/collections/request-collection.ts'
import { collectionRoutes } from '../nft/collections/routes.ts'
import { createOwnersOf } from '../nft/ownership/owners-of.ts'
import { readWalletTokens } from '../nft/ownership/read-wallet-tokens.ts'
import { walletTokenRoutes } from '../nft/ownership/routes.ts'
import { createAllot } from '../nft/tokens/allot.ts'
import { createChangeVoucher } from '../nft/tokens/change-voucher.ts'
import { createFateOf } from '../nft/tokens/fate-of.ts'
import { mintRoutes } from '../nft/tokens/mint-routes.ts'
import { createMintTokens } from '../nft/tokens/mint-tokens.ts'
import { createMintReads } from '../nft/tokens/read-mints.ts'
import { type TokenRoutePorts, tokenRoutes } from '../nft/tokens/update-routes.ts'
import { createUpdateToken, type UpdateTokenPorts } from '../nft/tokens/update-token.ts'
import { createFactsOf } from '../nft/tokens/voucher-facts.ts'
import { voucherRoutes } from '../nft/tokens/voucher-routes.ts'
import { createUntilVoucherSigned } from '../nft/tokens/wait-for-signature.ts'
import { createWarnOfRecipients } from '../nft/tokens/warn-of-recipients.ts'
import { createNftTransferReads } from '../nft/transfers/read-transfers.ts'
import { createRequestNftTransfer } from '../nft/transfers/request-transfer.ts'
import { nftTransferRoutes } from '../nft/transfers/routes.ts'
import type { ComposedApi } from './api-context.ts'
import type { MetadataParts } from './nft-metadata.ts'

export function composeNftRoutes(
  ctx: ComposedApi,
  { pinMetadata, metadataUri }: MetadataParts,
  fundIssuer: FundIssuer,
): Routes[] {
  const { config, pool, wakeUps, chainOf, findWallet, policies, transactions: reads } = ctx
  const { untilMined } = reads
  const collections = createCollectionReads(pool)
  const issuerWallet = createIssuerWallet(ctx, fundIssuer)
  const requestCollection = createRequestCollection({
    ...ctx,
    pool,
    issuerWallet,
    pinMetadata,
    metadataBase: metadataUri(''),
    codeOf: (chainId) => chainOf(chainId).code,
  })
  const mintTokens = createMintTokens({
    ...ctx,
    ...{ collections, pinMetadata },
    judgeVoucher: policies.judge.voucher,
    allot: createAllot(pool),
  })
  const warnOfRecipients = createWarnOfRecipients((chainId) =>
    createCanReceive(chainOf(chainId).foreign, chainOf(chainId).code),
  )
  const mints = createMintReads(pool)
  const ownersOf = createOwnersOf(pool)
  const requestTransfer = createRequestNftTransfer({
    ...ctx,
    pool,
    readCollection: collections.readHeld,
    // Receivers are third-party contracts.
    nodeOf: (chainId) => ({ client: chainOf(chainId).foreign, code: chainOf(chainId).code }),
  })
  return [
    collectionRoutes({ requestCollection, reads: collections, untilMined }),
    mintRoutes({
      mintTokens,
      reads: mints,
      collections,
      untilMined,
      untilVoucherSigned: createUntilVoucherSigned(pool, wakeUps),
      signWaitMs: config.signWaitMs,
      warnOfRecipients,
      ownersOf,
    }),
    ...composeTokenRoutes(ctx, { ...ctx, collections, mints, ownersOf, pinMetadata, untilMined }),
    nftTransferRoutes({
      requestTransfer,
      reads: createNftTransferReads(pool),
      untilSigned: reads.untilSigned,
      untilMined,
      signWaitMs: config.signWaitMs,
    }),
    walletTokenRoutes({ findWallet, readTokens: (query) => readWalletTokens(pool, query) }),
  ]
}

type TokenParts = Omit<UpdateTokenPorts, 'fateOf' | 'mints'> &
  Pick<TokenRoutePorts, 'untilMined' | 'ownersOf'> & { readonly mints: TokenRoutePorts['reads'] }

/** Operations on minted tokens and vouchers: redeem, revoke, change metadata. */
export function composeTokenRoutes({ pool }: Pick<ComposedApi, 'pool'>, parts: TokenParts): Routes[] {
  const { mints: reads, ownersOf, collections, untilMined } = parts
  const changeVoucher = createChangeVoucher({ ...parts, factsOf: createFactsOf(pool) })
  const updateToken = createUpdateToken({ ...parts, fateOf: createFateOf(pool) })
  return [
    voucherRoutes({ changeVoucher, reads, untilMined }),
    tokenRoutes({ updateToken, reads, ownersOf, collections, untilMined }),
  ]
}
