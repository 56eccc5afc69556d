/**
 * What the routes of the API are made from: made once by `compose/api-context.ts`. Each capability adds what it answers, to its own
 * routes and to others: `declare module '../api-context.ts' { interface ApiParts { … } }`. A use case in a folder names the part
 * that it needs. Types alone.
 */
import type { TSchema } from '@sinclair/typebox'
import type { Context } from './context.ts'
import type { Metadata } from './core/messages.ts'
import type { Network } from './core/networks.ts'
import type { Guard } from './core/scopes.ts'
import type { PrismaClient } from './generated/prisma/client.ts'
import type { ReadinessCheck } from './http/health.ts'
import type { Routes } from './http/request.ts'

/** By the name of the capability. */
// biome-ignore lint/suspicious/noEmptyInterface: capabilities add their parts.
export interface ApiParts {}

/** All of them at once: a member that two name has the type that satisfies both. */
type All<Parts> = (Parts extends unknown ? (part: Parts) => void : never) extends (all: infer Whole) => void
  ? Whole
  : never

export type ApiContext = Context & {
  readonly prisma: PrismaClient
  /** The id of the resource that this request created before, or `null`. @throws IdempotencyKeyReused */
  readonly findReplay: (metadata: Metadata) => Promise<string | null>
} & All<ApiParts[keyof ApiParts]>

/** What is known once all parts of the process are there. Capabilities add members. */
export interface RouteParts {
  /** Funds a wallet for gas, on local chains: what an installation adds. `null` elsewhere. */
  readonly fundWallet:
    | ((wallet: { readonly walletId: string; readonly address: string; readonly network: Network }) => Promise<void>)
    | null
  /** Every type of public events. */
  readonly publicTypes: readonly {
    readonly type: string
    readonly publisher: { readonly resource: string; readonly scope: Guard; readonly schema: TSchema }
  }[]
}

/** What routes are made from. */
export type RouteContext = ApiContext & RouteParts

/** What a capability adds to the API. Those that ask others for something add their member here. */
export interface ApiPart {
  readonly routes: readonly Routes[]
  /** For `/readyz`. */
  readonly readiness?: ReadinessCheck
}
