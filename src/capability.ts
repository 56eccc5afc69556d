/**
 * What a capability does. `compose/capabilities.ts` lists every capability, and the processes iterate over that list: the API adds the
 * routes, the dispatcher turns events into jobs, sweeps and repeats tasks, signers and submitters do the jobs, the follower
 * observes blocks, and the commands replay. What joins two capabilities stands in `compose`.
 */
import type { TSchema } from '@sinclair/typebox'
import type { Pool } from 'pg'
import type { ApiPart, RouteContext } from './api-context.ts'
import type { Config } from './config.ts'
import type { Context } from './context.ts'
import type { Clock } from './core/ids.ts'
import type { Event } from './core/messages.ts'
import type { CountedQuota, IdPrefix, QueueName, Scope, SignedKind, SubjectType, TaskName } from './core/registry.ts'
import type { ALL_SCOPES } from './core/scopes.ts'
import type { Aggregate } from './event-log/aggregate.ts'
import { type AfterImport, type AnyAggregate, anyAggregate, type CheckedModel } from './event-log/fold.ts'
import type { Reading } from './http/metrics.ts'
import type { Routes } from './http/request.ts'
import type { View } from './http/view.ts'
import type { JobHandler } from './jobs/jobs.ts'
import type { Work } from './jobs/work.ts'
import type { Coverage } from './keys/coverage.ts'
import type { AskedSignature } from './keys/mpc/party-sign.ts'
import type { Signer } from './keys/signer.ts'

/** What jobs of signers have; `wallets` and `policies` add what they answer. The private key stays behind `signer`. */
export interface SigningNeeds extends Pick<Context, 'pool' | 'log'> {
  readonly signer: Signer
}

/** What the job that exports keys has instead. */
export interface SeedNeeds extends Context, Pick<SigningNeeds, 'problemOf'> {
  /** The seed of a tenant, for the caller to wipe. */
  readonly loadSeed: (tenantId: string) => Promise<Uint8Array>
}

/** What parties of joint keys have to read the log themselves; `wallets` and `policies` add what they answer. */
export interface CoverNeeds extends Pick<Context, 'log'> {}

/** What repeated tasks have; `policies` adds what it knows of the past. */
export interface TaskNeeds extends Pick<Context, 'pool' | 'log' | 'newId' | 'clock' | 'config' | 'metrics'> {}

export type JobHandling = {
  readonly queue: QueueName
  /** Jobs at once, in each process. */
  readonly concurrency: number
} & (
  | { readonly process: 'submitter'; readonly handle: (needs: Pick<Context, 'pool' | 'log'>) => JobHandler }
  | {
      readonly process: 'signer'
      /** Jobs of the queue for mpc keys at once, where the declaration has one; by default as many. */
      readonly mpcConcurrency?: number
      readonly seesSeeds: false
      readonly handle: (needs: SigningNeeds) => JobHandler
    }
  | { readonly process: 'signer'; readonly seesSeeds: true; readonly handle: (needs: SeedNeeds) => JobHandler }
)

/**
 * Whether the log, read by a party itself, contains exactly what it is asked to sign.
 * @throws Unavailable when the log cannot be read; BrokenChain, WalletUnfit: then it is not covered
 */
export type Covers = (needs: CoverNeeds, asked: AskedSignature) => Promise<Coverage>

/** A task that one of the dispatchers repeats, the first time at once. */
export type RepeatedTask = {
  readonly name: TaskName
  /** From the end of a run to the start of the next, in ms. */
  readonly intervalMs: (config: Config) => number
  /** The log message of a failed run, which does not end the series. */
  readonly failure: string
  /** Called once at the start. Null where the settings ask for no such task. */
  readonly build: (needs: TaskNeeds) => ((signal: AbortSignal) => Promise<unknown>) | null
}

/** How `explain` reports a resource: a line for each event of its stream, and its transactions. */
export type Explained = {
  /** `null` for a resource without an id of its own: it is named by its stream, `<category>-<id>`, as `idRule` says. */
  readonly prefix: IdPrefix | null
  readonly idRule?: string
  readonly noun: string
  /** Whose transactions are listed: those that the wallet sent, or those with this subject. */
  readonly transactionsOf?: 'wallet' | SubjectType
  /** Null for a request that is recorded only in the transactions that it opened. */
  readonly aggregate: AnyAggregate | null
  readonly texts: EventWords
  /** Another stream with the same id, whose events are listed too. */
  readonly also?: AlsoExplained
}
export type AlsoExplained = { readonly aggregate: AnyAggregate; readonly texts: EventWords }
type EventWords = Readonly<Record<string, (data: never) => string>>

/** The text of each event. */
export type EventTexts<Evt extends Event> = {
  readonly [Type in Evt['type']]: (data: Extract<Evt, { readonly type: Type }>['data']) => string
}

/** For lists of resources of all types. An event without a text does not compile. */
export function explained<State, Command, Evt extends Event>(
  aggregate: Aggregate<State, Command, Evt>,
  resource: Omit<Explained, 'aggregate' | 'texts'> & { readonly texts: NoInfer<EventTexts<Evt>> },
): Explained {
  return { ...resource, aggregate: anyAggregate(aggregate) }
}

/** As `explained`, of another stream with the id of the resource. */
export function alsoExplained<State, Command, Evt extends Event>(
  aggregate: Aggregate<State, Command, Evt>,
  texts: NoInfer<EventTexts<Evt>>,
): AlsoExplained {
  return { aggregate: anyAggregate(aggregate), texts }
}

/** How the events of a stream become its state. */
export type StreamFold<State, Evt extends Event> = Pick<
  Aggregate<State, never, Evt>,
  'category' | 'initialState' | 'evolve' | 'hasEnded'
>

/** Any fold; each gets only the events of its own streams. */
export type AnyFold = {
  readonly category: string
  readonly initialState: unknown
  readonly evolve: (state: unknown, event: Event) => unknown
  readonly hasEnded?: (state: unknown) => boolean
}

/** The first event of a stream, with the time of its record, ISO 8601 UTC with milliseconds. */
export type FirstEvent<Evt extends Event = Event> = Evt & { readonly recordedAt: string }

/** An event of the log, with what its public events are rendered from. Nothing else: no table, no setting, no clock. */
export type EventSource<Evt extends Event = Event> = {
  /** The id of the stream without its category. */
  readonly id: string
  readonly tenantId: string
  readonly version: number
  /** ISO 8601 UTC with milliseconds. */
  readonly recordedAt: string
  readonly event: Evt
  /** The first event of another stream, once `related` has named it. It never changes. */
  readonly firstOf: (streamId: string) => FirstEvent | undefined
  /** The events of another stream, once `earlier` has named it, that come before this one in the log. */
  readonly earlierOf: (streamId: string) => readonly Event[]
}

/** With the stream up to the event. */
export type PublishSource<State = unknown, Evt extends Event = Event> = EventSource<Evt> & {
  /** The first event of the stream. */
  readonly first: Evt
  /** The state before and after the event. */
  readonly before: State
  readonly after: State
}

/** What a public event says about its resource. */
type PublicFacts<Data> = { readonly resourceId: string; readonly data: Data }

/** How the events of a stream are published to the tenant: in the feed and in webhooks. */
export type Published = {
  /** The streams: `<category>-<id>`. */
  readonly category: string
  /** The type of the resource that the public events are about. */
  readonly resource: string
  /** The scope that a key needs to read their data, or several of which each is sufficient. */
  readonly scope: Scope | readonly (Scope | typeof ALL_SCOPES)[]
  /** The public types, each with a description of one sentence. */
  readonly types: Readonly<Record<string, string>>
  /** For each event type of the stream, the public events that it may cause. */
  readonly events: Readonly<Record<string, readonly string[]>>
  /** The schema of `data`. */
  readonly schema: TSchema
  /** How the stream is folded up to the event; null if `data` follows from the event alone. All publishers of a category share it. */
  readonly fold: AnyFold | null
  /** The index of the first of them in the ids of public events: above 0 if another publisher of these streams comes first. */
  readonly firstIndex: number
  /** Only streams of transactions with this subject. */
  readonly subject: SubjectType | null
  /** False if the stream with this id has no event about the resource: a reader of one resource passes over it. */
  readonly mayConcern: (id: string, resourceId: string) => boolean
  /**
   * The id of the stream with the events about the resource of a tenant; null if its id does not say it. Not asked of streams
   * of transactions with a subject.
   */
  readonly streamOf: (resourceId: string, tenantId: string) => string | null
  /** Streams whose first event is needed too. Called again when these are known, until it names no other. */
  readonly related: (source: never) => readonly string[]
  /** Short streams whose earlier events are needed too. Called when the first events are known. */
  readonly earlier: (source: never) => readonly string[]
  /** Types that another publisher of the resource declares. */
  readonly repeats: readonly string[]
  /** Null if the event does not cause this public event after all. */
  readonly render: (source: never, type: never) => PublicFacts<unknown> | null
}

type PublishedBy<Source, Evt extends Event, Types extends string, Schema extends TSchema> = Pick<
  Published,
  'resource' | 'scope'
> &
  Partial<Pick<Published, 'firstIndex' | 'subject' | 'mayConcern' | 'streamOf'>> & {
    readonly types: Readonly<Record<Types, string>>
    readonly events: { readonly [Type in NoInfer<Evt>['type']]: readonly NoInfer<Types>[] }
    readonly schema: Schema
    readonly related?: (source: Source) => readonly string[]
    readonly earlier?: (source: Source) => readonly string[]
    readonly repeats?: readonly NoInfer<Types>[]
    readonly render: (source: Source, type: Types) => PublicFacts<View<Schema>> | null
  }

const DEFAULTS = {
  firstIndex: 0,
  subject: null,
  mayConcern: (id: string, resourceId: string) => id === resourceId,
  streamOf: (resourceId: string) => resourceId,
  related: () => [],
  earlier: () => [],
  repeats: [],
}

/** For lists of publishers of all types. An event type that is not mentioned does not compile. */
export function published<State, Evt extends Event, Types extends string, Schema extends TSchema>(
  fold: StreamFold<State, Evt>,
  publisher: PublishedBy<PublishSource<NoInfer<State>, NoInfer<Evt>>, Evt, Types, Schema>,
): Published {
  return { ...DEFAULTS, ...publisher, category: fold.category, fold: fold as unknown as AnyFold }
}

/** For streams that are too long to be folded. */
export function publishedAlone<State, Evt extends Event, Types extends string, Schema extends TSchema>(
  { category }: StreamFold<State, Evt>,
  publisher: PublishedBy<EventSource<NoInfer<Evt>>, Evt, Types, Schema>,
): Published {
  return { ...DEFAULTS, ...publisher, category, fold: null }
}

/** A metric that is read from tables at each scrape. */
export type Gauge = {
  /** The process that serves it. */
  readonly process: 'api' | 'auditor'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: (needs: { readonly pool: Pool; readonly clock: Clock }) => Promise<readonly Reading[]>
}

/**
 * What a capability gives. Those that ask others for something add their member here: `transactions` its kinds, `policies` what it
 * judges, the follower what it tells.
 */
export interface Capability {
  readonly aggregates?: readonly AnyAggregate[]
  /** Read models that money depends on: `audit verify` compares them with the log. */
  readonly verified?: readonly CheckedModel[]
  readonly afterImport?: AfterImport
  /** Resources with an id of their own, for `explain`. Transactions have a history of their own there. */
  readonly explains?: readonly Explained[]
  readonly gauges?: readonly Gauge[]
  readonly work?: readonly Work[]
  readonly jobs?: readonly JobHandling[]
  /** By the kind of what parties of joint keys are asked to sign. A kind without one is not signed. */
  readonly covers?: Readonly<Partial<Record<SignedKind, Covers>>>
  readonly tasks?: readonly RepeatedTask[]
  /** What counts towards quotas: statements that count items of the tenant `$1`, each using an index. */
  readonly usage?: Readonly<Partial<Record<CountedQuota, string>>>
  /** What tenants are told of its events. Loaded by the processes that tell them. */
  readonly publishes?: () => Promise<readonly Published[]>
  /** Orders the routes in the API document, the smallest first; of equal places in the order of the list. 60 if it has none. */
  readonly place?: number
  /** Its routes, or all that it adds to the API. Loaded by the API process alone. */
  readonly routes?: () => Promise<(ctx: RouteContext) => Routes | ApiPart | Promise<ApiPart>>
}
