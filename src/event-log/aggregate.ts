/**
 * How an aggregate maps to the log: its stream, the schema version it writes for each event, the older versions it
 * still reads, and the read-model rows derived from its state.
 */
import type { Decider, Event, Metadata } from '../core/messages.ts'
import type { Recorded } from '../core/recorded.ts'
import { BrokenChain } from './broken-chain.ts'
import { canonicalEvent, chainHash } from './hash-chain.ts'
import { isStorable, storable } from './storable.ts'
import { type AppendedTable, changedColumns, type WrittenRow } from './table-rows.ts'

/** It replaces the row with the same primary key. */
export type ReadModelRow<Table extends AppendedTable = AppendedTable> = {
  readonly [Name in Table]: {
    readonly table: Name
    readonly row: WrittenRow<Name>
    /** The columns to send instead of the row: `changedColumns`. */
    readonly changed?: Readonly<Record<string, unknown>>
  }
}[Table]

/**
 * Base units to hold of a balance; negative to release. With `mustFit` the commit is refused when they are not
 * available.
 */
export type HoldChange = {
  readonly walletId: string
  readonly assetId: string
  readonly delta: bigint
  readonly mustFit: boolean
}

/** Base units that count towards a limit from now on, in a bucket of its window; negative for what is given back. */
export type SpendChange = {
  readonly counter: string
  /** ISO 8601 UTC with milliseconds. */
  readonly bucket: string
  readonly delta: bigint
}

export type ReadModelChanges<Table extends AppendedTable = AppendedTable> = {
  readonly rows: readonly ReadModelRow<Table>[]
  readonly holds: readonly HoldChange[]
  /** For rebuilds: an append derives them itself (`spend_changes`). */
  readonly spends?: readonly SpendChange[]
}

/** Converts event data from one schema version to the next. */
export type Upcaster = (data: Readonly<Record<string, unknown>>) => Record<string, unknown>

/**
 * How an event type is stored: the schema version written now, and the upcasters of versions 1…n-1 (`upcasters[0]` reads
 * version 1).
 */
export type EventSchema<Data = never> = {
  readonly version: number
  readonly upcasters: readonly Upcaster[]
} & ReadsAmounts<Data>

/** `read`: from the stored form of the newest version. Data with amounts does not compile without it, and no other has it. */
type ReadsAmounts<Data> = [Data] extends [Recorded<Data>]
  ? { readonly read?: undefined }
  : { readonly read: (data: Recorded<Data>) => Data }

export type EventSchemas<Evt extends Event> = {
  readonly [Type in Evt['type']]: EventSchema<Extract<Evt, { readonly type: Type }>['data']>
}

/** Schemas of any events. */
export type AnySchemas = Readonly<
  Record<
    string,
    Pick<EventSchema, 'version' | 'upcasters'> & { readonly read?: ((data: never) => unknown) | undefined }
  >
>

export type ProjectionContext = {
  readonly id: string
  readonly tenantId: string
  readonly version: number
  readonly recordedAt: string
}

/** A decider with a stream and a projection. `project` is pure: a rebuild calls it again. */
export type Aggregate<State, Command, Evt extends Event, Table extends AppendedTable = AppendedTable> = Decider<
  State,
  Command,
  Evt
> & {
  /** Streams are named `<category>-<id>`. */
  readonly category: string
  readonly schemas: EventSchemas<Evt>
  readonly project: (before: State, after: State, context: ProjectionContext) => ReadModelChanges<Table>
  /**
   * For streams with one row, in a table with versions: the column of its primary key. Appends after the first send only
   * the columns that changed.
   */
  readonly rowKey?: string
  /**
   * For streams whose events say what was signed, or with which key. Behind an event that an operator has set aside they
   * end: nothing is added, since a signature may be hidden there. `hold`: nothing is signed for such a stream either.
   * Other streams go on without the event.
   */
  readonly whenSetAside?: 'end' | 'hold'
  /** Of streams that workers write: whose they are. @throws Error for a stream that does not exist */
  readonly tenantOf?: (state: State) => string
  /** Whether its stream has probably got its last event: processes do not cache such a state. */
  readonly hasEnded?: (state: State) => boolean
  /**
   * The resource that a client's request opened, from an event with its idempotency key; the table of keys is rebuilt
   * from this. Streams that only take part in a request for another resource omit it. Pure.
   */
  readonly opens?: (event: Evt, place: { readonly id: string; readonly version: number }) => OpenedResource | null
}

/** The resource of an idempotency key. When one request wrote several streams, the lowest rank is its resource. */
export type OpenedResource = { readonly id: string; readonly rank: number }

/** `opens` for an aggregate whose streams are the requested resource itself; applies to events of these types. */
export function opensItself<Evt extends Event>(...types: readonly Evt['type'][]) {
  return ({ type }: Evt, { id }: { readonly id: string }): OpenedResource | null =>
    types.includes(type) ? { id, rank: 0 } : null
}

/** The state of an aggregate at one version of its stream. */
export type Loaded<State> = {
  readonly id: string
  readonly state: State
  /** 0 when the stream does not exist yet. */
  readonly version: number
  /** Hash of the newest event, or the empty string. */
  readonly hash: string
  /**
   * Why nothing can be added, as a sentence: the stream has an event behind this version that cannot be read. The state is
   * the one before it.
   */
  readonly held?: string | null
}

/** Of many streams those that can go on. */
export function notHeld<State>(loaded: readonly Loaded<State>[]): Loaded<State>[] {
  return loaded.filter(({ held }) => held == null)
}

/** New events of one stream to append, with the rows and holds derived from them. */
export type Decision<State = unknown> = {
  /** Hash of the event before them; the empty string for a new stream. */
  readonly previous: string
  readonly events: readonly {
    readonly streamId: string
    readonly streamVersion: number
    readonly type: string
    readonly canonical: string
    readonly hash: string
  }[]
  readonly readModels: ReadModelChanges
  /** The aggregate after the append. */
  readonly after: Loaded<State>
  /** As its aggregate says of the state after the append. */
  readonly hasEnded: boolean
}

/** What is recorded with the events of a decision. `now`: ISO 8601 UTC with milliseconds. */
export type Recording = { readonly now: string } & (
  | { readonly metadata: Metadata }
  /** The tenant is that of the stream. `cause`: the lane or the block that the worker works on. */
  | { readonly worker: string; readonly cause: string }
)

function metadataOf<State>(
  { category, tenantOf }: Pick<Aggregate<State, never, never>, 'category' | 'tenantOf'>,
  state: State,
  recording: Recording,
): Metadata {
  if ('metadata' in recording) return recording.metadata
  if (tenantOf === undefined) throw new Error(`no worker writes streams of ${category}`)
  return { tenantId: tenantOf(state), actor: `worker:${recording.worker}`, causationId: recording.cause }
}

/**
 * Decides a command on a loaded aggregate.
 *
 * @returns the decision to append, or `null` when the command is already fulfilled
 * @throws BursarError when the command is refused; BrokenChain for a stream that is held
 */
export function decideOn<State, Command, Evt extends Event>(
  aggregate: Aggregate<State, Command, Evt>,
  loaded: Loaded<State>,
  command: Command,
  recording: Recording,
): Decision<State> | null {
  if (loaded.held != null) throw new BrokenChain(loaded.held)
  const decided = aggregate.decide(command, loaded.state)
  if (decided.length === 0) return null
  const metadata = metadataOf(aggregate, loaded.state, recording)
  const streamId = `${aggregate.category}-${loaded.id}`
  let { state, version, hash } = loaded
  const events = decided.map((meant) => {
    version += 1
    const schemaVersion = (aggregate.schemas as Readonly<Record<Evt['type'], EventSchema>>)[meant.type as Evt['type']]
      .version
    const canonicalOf = ({ type, data }: Evt, recorded: Metadata) =>
      canonicalEvent({
        streamId,
        streamVersion: version,
        type,
        schemaVersion,
        data,
        metadata: recorded,
        recordedAt: recording.now,
      })
    const exact = canonicalOf(meant, metadata)
    const event = isStorable(exact) ? meant : storable(meant)
    const canonical = event === meant ? exact : canonicalOf(event, storable(metadata))
    hash = chainHash(hash, canonical)
    state = aggregate.evolve(state, event)
    return { streamId, streamVersion: version, type: event.type, canonical, hash }
  })
  const projection = { id: loaded.id, tenantId: metadata.tenantId, version, recordedAt: recording.now }
  return {
    previous: loaded.hash,
    events,
    readModels: withChanges(aggregate, loaded, aggregate.project(loaded.state, state, projection), projection),
    after: { id: loaded.id, state, version, hash },
    hasEnded: aggregate.hasEnded?.(state) ?? false,
  }
}

function withChanges<State, Command, Evt extends Event>(
  { rowKey, project, initialState }: Aggregate<State, Command, Evt>,
  { state, version }: Loaded<State>,
  after: ReadModelChanges,
  context: ProjectionContext,
): ReadModelChanges {
  if (rowKey === undefined || version === 0) return after
  const before = project(initialState, state, { ...context, version, recordedAt: '' }).rows[0]?.row
  if (before === undefined) return after
  const rows = after.rows.map((item) => ({ ...item, changed: changedColumns(rowKey, before, version, item.row) }))
  return { ...after, rows }
}

/** The initial state of an aggregate, at version 0. */
export function unopened<State>(
  { initialState }: Pick<Aggregate<State, never, never>, 'initialState'>,
  id: string,
): Loaded<State> {
  return { id, state: initialState, version: 0, hash: '' }
}

/** `decideOn` for a command that always produces an event. @throws the errors of `decideOn` */
export function mustDecideOn<State, Command extends { readonly type: string }, Evt extends Event>(
  aggregate: Aggregate<State, Command, Evt>,
  loaded: Loaded<State>,
  command: Command,
  recording: Recording,
): Decision<State> {
  const decided = decideOn(aggregate, loaded, command, recording)
  if (decided === null) throw new Error(`${command.type} produced no event for ${aggregate.category}-${loaded.id}`)
  return decided
}

/** `mustDecideOn` for a new stream. @throws the errors of `decideOn` */
export function decideNew<State, Command extends { readonly type: string }, Evt extends Event>(
  aggregate: Aggregate<State, Command, Evt>,
  id: string,
  command: Command,
  recording: Recording,
): Decision<State> {
  return mustDecideOn(aggregate, unopened(aggregate, id), command, recording)
}

/**
 * Reads stored data of any schema version as the newest, with its amounts.
 *
 * @throws Error for an unknown type or version; TypeError for an amount that no append wrote
 */
export function upcast<Evt extends Event>(
  schemas: NoInfer<EventSchemas<Evt>> | AnySchemas,
  type: string,
  schemaVersion: number,
  data: unknown,
): Evt {
  const schema = (schemas as AnySchemas)[type]
  if (schema === undefined || schemaVersion < 1 || schemaVersion > schema.version) {
    throw new Error(
      `unknown event ${type} version ${schemaVersion}: this version of Bursar is older than the event log`,
    )
  }
  let current = data as Record<string, unknown>
  for (const step of schema.upcasters.slice(schemaVersion - 1)) current = step(current)
  return { type, data: schema.read === undefined ? current : schema.read(current as never) } as Evt
}
