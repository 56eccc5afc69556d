/**
 * What the routes of the API are made from: made once by `compose/api-context.ts`. A use case in a folder names the part that it
 * needs; what it needs of other capabilities it names itself (`transactions/send-context.ts`). Types alone.
 */
import type { TSchema } from '@sinclair/typebox'
import type { KeyGate } from './access/key-gate.ts'
import type { LimitsOfKeys } from './access/limits-of-keys.ts'
import type { LimitReports } from './access/report-limits.ts'
import type { AssetBooks } from './assets/asset-books.ts'
import type { readBalance } from './balances/read-balance.ts'
import type { CallContext } from './contract-calls/call-context.ts'
import type { Metadata } from './core/messages.ts'
import type { Guard } from './core/scopes.ts'
import type { PrismaClient } from './generated/prisma/client.ts'
import type { ReadinessCheck } from './http/health.ts'
import type { Routes } from './http/request.ts'
import type { NftContext } from './nft/nft-context.ts'
import type { Judge } from './policies/judge.ts'
import type { PolicyContext } from './policies/manage-policies.ts'
import type { Prepare, Simulating } from './policies/simulate.ts'
import type { SendContext } from './transactions/send-context.ts'
import type { ArchiveWalletContext } from './wallets/archive-wallet.ts'
import type { FindWallet } from './wallets/find-wallet.ts'
import type { OpeningContext } from './wallets/request-wallet.ts'

export type ApiContext = SendContext &
  CallContext &
  ArchiveWalletContext &
  OpeningContext &
  Omit<NftContext, 'fundIssuer'> &
  PolicyContext &
  Parameters<typeof readBalance>[0] & {
    readonly findWallet: FindWallet
    /** The id of the resource that this request created before, or `null`. @throws IdempotencyKeyReused */
    readonly findReplay: (metadata: Metadata) => Promise<string | null>
    readonly books: AssetBooks
    /** What the policy of a tenant says about requests that are no transactions; `prepareCall` asks for those. */
    readonly judge: Judge
    readonly policies: Simulating['policies']
    readonly keyGate: KeyGate
    readonly limitsOfKeys: LimitsOfKeys
    readonly limitReports: LimitReports
    /** Whether this service sends the transactions of a contract; the address is EIP-55. */
    readonly isManaged: (chainId: number, address: string) => Promise<boolean>
    readonly prisma: PrismaClient
  }

/** What routes are made from: the context, and what is known once all parts of the process are there. */
export type RouteContext = ApiContext &
  /** What an installation adds. */
  Pick<NftContext, 'fundIssuer'> & {
    /** Every type of public events. */
    readonly publicTypes: readonly {
      readonly type: string
      readonly publisher: { readonly resource: string; readonly scope: Guard; readonly schema: TSchema }
    }[]
    /** The requests that a policy can be simulated with, by their fields of the body. Called when the routes are registered. */
    readonly simulated: () => Readonly<Record<string, SimulatedRequest>>
  }

/** What a capability adds to the API. */
export type ApiPart = {
  readonly routes: readonly Routes[]
  /** For `/readyz`. */
  readonly readiness?: ReadinessCheck
  readonly simulates?: Readonly<Record<string, SimulatedRequest>>
}

/** A kind of request that a policy can be simulated with: prepared as the real one, with parts that record nothing. */
export type SimulatedRequest = {
  /** Orders them in the API document, the smallest first. */
  readonly place: number
  /** Of its own route. */
  readonly body: TSchema
  readonly prepare: (walletId: string, body: never) => Prepare
}
