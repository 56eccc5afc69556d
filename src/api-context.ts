/**
 * What the routes of the API are made from: made once by `compose/api-context.ts`. Each capability adds what it answers, to its own
 * routes and to others: `declare module '../api-context.ts' { interface ApiParts { … } }`. A use case in a folder names the part
 * that it needs. Types alone.
 */
import type { Context } from './context.ts'
import type { Metadata } from './core/messages.ts'
import type { PrismaClient } from './generated/prisma/client.ts'

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
