/**
 * The whole framework of the domain: facts, the functions that make an aggregate, and how a fact looks once recorded.
 */

/** A fact in the past tense. `data` holds JSON values only; amounts are decimal digits in strings. */
export type Event<Type extends string = string, Data = unknown> = {
  readonly type: Type
  readonly data: Readonly<Data>
}

/**
 * A pure core: no clock, no randomness, no I/O; now, ids, fees and quotes come in with the command.
 *
 * Invariant: `evolve` never throws on a known event; `decide` throws a `BursarError` when a command is refused and
 * returns no events when the command is already fulfilled.
 */
export type Decider<State, Command, Evt extends Event> = {
  readonly initialState: State
  readonly decide: (command: Command, state: State) => readonly Evt[]
  readonly evolve: (state: State, event: Evt) => State
}

/** Who did it and why: recorded beside every event. */
export type Metadata = {
  readonly tenantId: string
  /** `apikey:<key_id>`, `worker:<name>` or `operator`. */
  readonly actor: string
  /** The request that began it all: the HTTP request id, kept through every later event of the story. */
  readonly correlationId?: string
  /** What directly caused this event: a job id, or `block:<number>`. */
  readonly causationId?: string
  /** W3C trace context of the request. */
  readonly traceparent?: string
  /**
   * The client's idempotency key and the digest of its request, on the event that opens a resource. `resourceId` is there where what
   * the key stands for follows from nothing else in the event.
   */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string; readonly resourceId?: string }
}

/** An event as the log keeps it. */
export type RecordedEvent<Evt extends Event = Event> = Evt & {
  /** Place in the log. Not a reading order by itself: see the subscription. */
  readonly position: bigint
  readonly streamId: string
  /** 1 for the first event of its stream. */
  readonly streamVersion: number
  readonly metadata: Metadata
  /** ISO 8601 UTC with milliseconds. */
  readonly recordedAt: string
  /** SHA-256, hex, over the previous hash of the stream and this event. */
  readonly hash: string
}
