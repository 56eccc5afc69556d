/** The domain's framework: events, the functions that make an aggregate, and the form of a recorded event. */

/** A fact, named in the past tense. `data` holds JSON values, and amounts as bigint: the log stores their digits. */
export type Event<Type extends string = string, Data = unknown> = {
  readonly type: Type
  readonly data: Readonly<Data>
}

/**
 * A pure core without clock, randomness or I/O: the current time, ids, fees and quotes come with the command.
 *
 * Invariant: `evolve` never throws on a known event; `decide` throws a `BursarError` when a command is refused and
 * returns no events when the command is already fulfilled.
 */
export type Decider<State, Command, Evt extends Event> = {
  readonly initialState: State
  readonly decide: (command: Command, state: State) => readonly Evt[]
  readonly evolve: (state: State, event: Evt) => State
}

/** Who caused an event and why; recorded with every event. */
export type Metadata = {
  readonly tenantId: string
  /** `apikey:<key_id>`, `worker:<name>`, `operator`, or `reporter` of a leaked key. */
  readonly actor: string
  /** The id of the HTTP request that started the sequence; copied to every later event of it. */
  readonly correlationId?: string
  /** The direct cause of this event: a job id, or `block:<number>`. */
  readonly causationId?: string
  /** W3C trace context of the request. */
  readonly traceparent?: string
  /**
   * The client's idempotency key and the digest of its request, on the event that opens a resource. `resourceId` is set
   * when the resource of the key cannot be derived from the rest of the event.
   */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string; readonly resourceId?: string }
}

const KEY_ACTOR = 'apikey:'

/** The actor of what an API key requests. */
export function actorOfApiKey(keyId: string): string {
  return `${KEY_ACTOR}${keyId}`
}

/** The API key of an actor; `null` for every other actor. */
export function apiKeyOf(actor: string): string | null {
  return actor.startsWith(KEY_ACTOR) ? actor.slice(KEY_ACTOR.length) : null
}

/** The metadata of events whose request opened this resource: the table of keys is rebuilt from events. */
export function forResource(metadata: Metadata, resourceId: string): Metadata {
  const { idempotency } = metadata
  return idempotency === undefined ? metadata : { ...metadata, idempotency: { ...idempotency, resourceId } }
}

/** An event as stored in the log. */
export type RecordedEvent<Evt extends Event = Event> = Evt & {
  /** Position in the log. Not the reading order on its own: see the subscription. */
  readonly position: bigint
  readonly streamId: string
  /** 1 for the first event of its stream. */
  readonly streamVersion: number
  readonly metadata: Metadata
  /** ISO 8601 UTC with milliseconds. */
  readonly recordedAt: string
  /** SHA-256, hex, of the previous hash of the stream and this event. */
  readonly hash: string
}
