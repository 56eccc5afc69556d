/**
 * What the routes of the API are made from: made once by `compose/api-context.ts`. A use case in a folder names the part that it
 * needs; what it needs of other capabilities it names itself (`transactions/send-context.ts`). Types alone.
 */
import type { LimitsOfKeys } from './access/limits-of-keys.ts'
import type { LimitReports } from './access/report-limits.ts'
import type { AssetBooks } from './assets/asset-books.ts'
import type { readBalance } from './balances/read-balance.ts'
import type { CallContext } from './contract-calls/call-context.ts'
import type { Metadata } from './core/messages.ts'
import type { PrismaClient } from './generated/prisma/client.ts'
import type { NftContext } from './nft/nft-context.ts'
import type { Judge } from './policies/judge.ts'
import type { PolicyContext } from './policies/manage-policies.ts'
import type { SendContext } from './transactions/send-context.ts'
import type { ArchiveWalletContext } from './wallets/archive-wallet.ts'
import type { FindWallet } from './wallets/find-wallet.ts'
import type { OpeningContext } from './wallets/request-wallet.ts'

export type ApiContext = SendContext &
  CallContext &
  ArchiveWalletContext &
  OpeningContext &
  // What an installation adds is known after the context: `compose/api.ts` puts it in.
  Omit<NftContext, 'fundIssuer'> &
  PolicyContext &
  Parameters<typeof readBalance>[0] & {
    readonly findWallet: FindWallet
    /** The id of the resource that this request created before, or `null`. @throws IdempotencyKeyReused */
    readonly findReplay: (metadata: Metadata) => Promise<string | null>
    readonly books: AssetBooks
    /** What the policy of a tenant says about requests that are no transactions; `prepareCall` asks for those. */
    readonly judge: Judge
    readonly limitsOfKeys: LimitsOfKeys
    readonly limitReports: LimitReports
    /** Whether this service sends the transactions of a contract; the address is EIP-55. */
    readonly isManaged: (chainId: number, address: string) => Promise<boolean>
    readonly prisma: PrismaClient
  }
