/**
 * The type of a capability's declaration as data: its ids, scopes, tables, streams and queues. The log, the queues, the
 * database roles and the API read it from the list in `src/declarations.ts`. Behaviour is in `capability.ts`.
 */
import type { DatabaseRole, TableGrants } from './database-roles.ts'
import type { ErrorActions } from './errors.ts'
import type { Guard, ScopeTerms } from './scopes.ts'

/**
 * How rows of a read model are derived from streams. `stream`: each row from one stream. `first`: several streams can
 * write the same row with the same content. `sum`: the changes of all streams added up. `key`: the request of a client,
 * which can have opened several streams.
 */
export type ReadModelKind = 'stream' | 'first' | 'sum' | 'key'

/** A table either is derived from the log and can be rebuilt from it, or `beside` says what it is instead. */
export type TableDeclaration =
  | { readonly follows: ReadModelKind; readonly grants: TableGrants }
  | {
      readonly beside: string
      readonly grants: TableGrants
      /** An append writes whole rows of it. */
      readonly isAppended?: true
    }

/**
 * Which rows an append may write with the events of a stream: the database refuses all others.
 *
 * `of`: the id of the stream, from columns of the row: `{asset_id}@{tenant_id}`. `changes`: the columns that each event
 * type can change in the row of its stream, besides `version`; `WHOLE_ROW` for those that write a row for the first time.
 * `content`: rows of any stream, whose key is the CID of the column. `chain`: rows of a followed chain, under its lease.
 * `holds`: sums that follow from the rows of transactions. `free`: rows beside the log that its writers may change anyway.
 */
export type RowDeclaration =
  | { readonly of: string; readonly changes: Readonly<Record<string, readonly string[]>> }
  | { readonly content: string }
  | 'chain'
  | 'holds'
  | 'free'

/**
 * What the database checks of an event of a transaction, by the row: `from` are the states that it can follow, and the
 * events of the same append. `to`: the state that it leads to; missing where it changes none. `cancelsTo`: the one
 * that it leads to instead if its data says `cancels`. `fee`: the highest fee after it, which is held while the
 * transaction is in no block. `signed`: that of its bytes; `raised`: that of its bytes, if higher; `reserved`: that of the
 * request; missing where it changes none.
 */
export type StepDeclaration = {
  readonly from: readonly string[]
  readonly to?: string
  readonly cancelsTo?: string
  readonly fee?: 'signed' | 'raised' | 'reserved'
  /** What is held more after it must fit into the balance, unless its bytes were found on chain. */
  readonly mustFit?: true
}

/** The columns of an event that writes a row for the first time. */
export const WHOLE_ROW = ['*'] as const

export type StreamDeclaration = {
  /** Each event type of the stream, and the processes that append it. The database refuses every other append. */
  readonly events: Readonly<Record<string, readonly DatabaseRole[]>>
  /**
   * Tables whose rows are derived from the events: a process that appends one of the events writes their rows with it.
   */
  readonly rows: Readonly<Record<string, RowDeclaration>>
  /** Only of transactions: each event after the first. */
  readonly steps?: Readonly<Record<string, StepDeclaration>>
  /**
   * The scope that a key needs to read the data of these events, or several of which each is sufficient; `*` where no
   * route shows the same facts.
   */
  readonly readScope: Guard
  /** Event types whose data needs another scope. */
  readonly readScopeOf?: Readonly<Record<string, string>>
}

/** How transactions of a kind begin. The event has the intent as its data and is of the stream of the transaction. */
export type OpeningDeclaration<Type extends string = string> = {
  /** The type of the transaction in the API. */
  readonly type: Type
  /** The shape of the intent when the event was first written. It never changes: older intents are upcast from there. */
  readonly since: 1 | 2 | 3
  /** The logs of its receipt are recorded when it is mined, for capabilities that read what it did from them. */
  readonly keepsLogs?: true
  /** It may take assets besides its own: `outflows` of its intent. */
  readonly takesMore?: true
} & (
  | {
      /** The processes that append the event. */
      readonly writers: readonly DatabaseRole[]
      readonly isUnjudged?: never
    }
  | {
      /** No API key requests it. */
      readonly writers: readonly Exclude<DatabaseRole, 'api'>[]
      /** No policy judges it, neither the service nor the database: it moves nothing, as its rule says. */
      readonly isUnjudged: true
    }
)

/** How many jobs can be in a queue at once. This bounds how long a tenant waits for the work of another. */
export type QueueLimits = {
  /**
   * Jobs of all tenants that wait for a worker. A new job waits for no more than these, so the window is small. It is larger than
   * what workers finish before the queue is read again, so that they always have work.
   */
  readonly window: number
  /**
   * Jobs of one tenant that wait for a worker or are running; `null` when a job takes milliseconds and the window is
   * limit enough.
   */
  readonly atOnce: number | null
  /** Jobs of one tenant that wait for their next attempt. */
  readonly failing: number
  /** How often the queue is read while jobs wait for their turn, in ms. Workers take at least this long for a window. */
  readonly lookMs: number
}

export type QueueDeclaration = {
  readonly limits: QueueLimits
  /**
   * Limits of the queue `mpc-<name>`, where work of mpc keys is separate: a signature of an hd key takes milliseconds, one of the
   * mpc parties can take seconds, and one kind must not wait for the other.
   */
  readonly mpcLimits?: QueueLimits
}

/** A limit of each tenant, with a setting for its default: QUOTA_ and its name. */
export type QuotaDeclaration = {
  /**
   * `counted`: in the database, what exists or is unfinished, across all API processes. Each API process counts the others on
   * its own: `rate`: single requests of routes that ask nodes a lot, or what a request made the service read for
   * nothing; `edge`: of every request.
   */
  readonly kind: 'counted' | 'rate' | 'edge'
  /** Of lists: the lowest is first. */
  readonly place: number
  /** 0 means no limit. */
  readonly default: number
  /** Of the setting. */
  readonly description: string
  /** What is counted, and how to free some of it. */
  readonly counted: string
  readonly remedy: string
  /** Of counted ones: when a retry may help; `null` for what is not freed by waiting. */
  readonly retryAfterSeconds?: number | null
}

/** A metric of every process. One without labels is shown from the start, as 0. */
export type MetricDeclaration = { readonly help: string; readonly labels: readonly string[] }

/** `buckets`: upper bounds in seconds. */
export type TimerDeclaration = MetricDeclaration & { readonly buckets?: readonly number[] }

export type Declaration = {
  /** The folder. */
  readonly name: string
  /** Kinds of ids with their prefixes. */
  readonly ids?: Readonly<Record<string, string>>
  /** A resource and a verb: `wallets:read`. Events contain scopes, so a name never changes its meaning. */
  readonly scopes?: Readonly<Record<string, ScopeTerms>>
  readonly tables?: Readonly<Record<string, TableDeclaration>>
  /** By category: streams are named `<category>-<id>`. */
  readonly streams?: Readonly<Record<string, StreamDeclaration>>
  /** The events that open transactions which the capability sends. */
  readonly openings?: Readonly<Record<string, OpeningDeclaration>>
  /**
   * What its transactions record beside what every transaction has: fields of the intent, and columns of the row. The code
   * that such a transaction runs is not ours.
   */
  readonly intentParts?: readonly string[]
  /** Resources that a transaction can belong to, for looking it up. */
  readonly subjects?: readonly string[]
  readonly queues?: Readonly<Record<string, QueueDeclaration>>
  /** Kinds of its resources that need a signature. Parties of joint keys sign one only if its `covers` knows it. */
  readonly signs?: readonly string[]
  /** Tasks that one dispatcher repeats, while it holds the lease of this name. */
  readonly tasks?: readonly string[]
  /** The error codes that it raises, and those that others raise about its resources. */
  readonly errors?: ErrorActions
  /**
   * Kinds of what `stuck` finds, each with what it means. They are stable: scripts and alarms use them. `place`: of the help, the
   * lowest is first.
   */
  readonly findings?: readonly { readonly place: number; readonly kinds: Readonly<Record<string, string>> }[]
  /** The groups of its routes in the API document. `place`: the lowest is first. */
  readonly tags?: Readonly<Record<string, { readonly description: string; readonly place: number }>>
  readonly quotas?: Readonly<Record<string, QuotaDeclaration>>
  readonly counters?: Readonly<Record<string, MetricDeclaration>>
  /** Histograms of durations, in seconds. */
  readonly timers?: Readonly<Record<string, TimerDeclaration>>
  /** Gauges that the process sets. Those that are read from tables are in `capability.ts`. */
  readonly levels?: Readonly<Record<string, MetricDeclaration>>
}

/** Limits of queues whose jobs drain a lane, or all lanes of a partition. */
export const LANE_LIMITS: QueueLimits = { window: 64, atOnce: null, failing: 256, lookMs: 20 }
/** Limits of queues whose jobs take milliseconds. */
export const QUICK_LIMITS: QueueLimits = { window: 32, atOnce: null, failing: 256, lookMs: 20 }
/** Limits of queues for mpc signatures, which take 50 ms and more. */
export const MPC_LIMITS: QueueLimits = { window: 32, atOnce: 8, failing: 64, lookMs: 50 }

/** For `satisfies` in a declaration: an event type that is missing or misspelt does not compile. */
export type EventWriters<Event extends { readonly type: string }> = Readonly<
  Record<Event['type'], readonly DatabaseRole[]>
>
