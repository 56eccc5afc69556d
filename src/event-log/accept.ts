/**
 * Accepts each client request once: prepares the decisions, appends them with the request's idempotency key, prepares
 * them again after a concurrent write to the same stream, and answers a repeated request with the result of the first
 * one.
 *
 * Invariant: a request is accepted only by an append that records its key, also when it changes nothing. A request that would
 * be refused today may replay one that was accepted, for example because the wallet was archived since or a deadline has
 * passed.
 */
import type { Pool } from 'pg'
import { IdempotencyKeyReused } from '../core/errors.ts'
import { type Event, forResource, type Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { NewId } from '../core/registry.ts'
import { type Aggregate, decideNew, decideOn } from './aggregate.ts'
import { type Commit, IdempotentReplay, PolicyChanged } from './append.ts'
import { isStreamConflict, repeatOnConflict } from './commit.ts'
import type { EventLog } from './log.ts'
import { requestAggregate } from './request-aggregate.ts'
import type { Row } from './table-rows.ts'

/** The prepared decisions of a request. */
export type Prepared<Made> = {
  /** The resource id that the idempotency key refers to from then on. */
  readonly id: string
  readonly commit: Commit
  /** Maps a refusal of the append to an error for the client; returns any other error unchanged. */
  readonly explain?: (refusal: unknown) => unknown
  /** Returned to the caller after the append. */
  readonly made: Made
}

export type Accepted<Made = unknown> =
  | { readonly id: string; readonly replayed: false; readonly made: Made }
  /** An earlier request with the same key created it; nothing was appended. */
  | { readonly id: string; readonly replayed: true; readonly made: null }

/**
 * @throws IdempotencyKeyReused when the key belongs to a different request; errors of the append, mapped by `explain`
 */
export type AppendPrepared = <Made>(prepared: Prepared<Made>) => Promise<Accepted<Made>>

/**
 * Accepts a request that finds fulfilled what it asks for. Its key belongs to the request itself, in an event of its own.
 *
 * @throws IdempotencyKeyReused when the key belongs to a different request
 */
export type AcceptUnchanged = <Made>(target: ChangeTarget, made: Made) => Promise<Accepted<Made>>

/** What was to be changed. */
export type ChangeTarget = { readonly id: string; readonly environment: Environment }

/**
 * @param attempt prepares the request from the current state and appends it, or accepts it unchanged; called again after
 *   a conflict
 * @throws errors of the attempt, unless the request's key created something before; IdempotencyKeyReused
 */
export type Accept = <Made>(
  metadata: Metadata,
  attempt: (append: AppendPrepared, unchanged: AcceptUnchanged) => Promise<Accepted<Made>>,
  options?: {
    /** Looks up the key before preparing: for requests whose preparation has effects or must not run twice. */
    readonly replayFirst?: boolean
    /** Whether to retry after this error, besides PolicyChanged; by default after StreamConflict. */
    readonly isConflict?: (error: unknown) => boolean
  },
) => Promise<Accepted<Made>>

export function createAccept({
  log,
  pool,
  newId,
}: {
  readonly log: Pick<EventLog, 'append' | 'now'>
  readonly pool: Pool
  readonly newId: NewId
}): Accept {
  return async (metadata, attempt, { replayFirst = false, isConflict = isStreamConflict } = {}) => {
    const replay = async () => {
      const id = await findReplay(pool, metadata)
      return id === null ? null : { id, replayed: true as const, made: null }
    }
    const before = replayFirst ? await replay() : null
    if (before !== null) return before
    return repeatOnConflict(
      async () => {
        try {
          return await attempt(
            (prepared) => appendPrepared(log, prepared, metadata),
            (target, made) => appendUnchanged(log, newId('request'), { target, made }, metadata),
          )
        } catch (error) {
          // A request that is refused now may repeat one that was accepted.
          const earlier = await replay()
          if (earlier !== null) return earlier
          throw error
        }
      },
      { isConflict: (error) => error instanceof PolicyChanged || isConflict(error) },
    )
  }
}

async function appendPrepared<Made>(
  log: Pick<EventLog, 'append'>,
  { id, commit, explain = (refusal) => refusal, made }: Prepared<Made>,
  metadata: Metadata,
): Promise<Accepted<Made>> {
  const opened = await appendOnce(log, commit, { resourceId: id, metadata }).catch((refusal) => {
    throw explain(refusal)
  })
  return opened.replayed ? { id: opened.id, replayed: true, made: null } : { id, replayed: false, made }
}

/** Without a key there is nothing to record. */
async function appendUnchanged<Made>(
  log: Pick<EventLog, 'append' | 'now'>,
  id: string,
  { target, made }: { readonly target: ChangeTarget; readonly made: Made },
  metadata: Metadata,
): Promise<Accepted<Made>> {
  if (metadata.idempotency === undefined) return { id, replayed: false, made }
  const now = log.now()
  const command = { type: 'RecordRequest', resourceId: target.id, environment: target.environment, now } as const
  const recorded = decideNew(requestAggregate, id, command, { metadata, now })
  return appendPrepared(log, { id, commit: { decisions: [recorded] }, made }, metadata)
}

/**
 * Accepts each request for a change of a stream once. It has one effect: a used key changes nothing a second time, also when
 * the stream was changed again since.
 *
 * The aggregate's `opens` must name the events of the command.
 *
 * @param requires throws if the state does not allow the caller to ask for it
 * @throws the refusals of the command; IdempotencyKeyReused; errors of the append
 */
export function acceptChange<State, Command, Evt extends Event>(
  {
    log,
    accept,
    newId,
  }: {
    readonly log: Pick<EventLog, 'load' | 'now'>
    readonly accept: Accept
    readonly newId: NewId
  },
  aggregate: Aggregate<State, Command, Evt>,
  target: ChangeTarget,
  command: Command,
  metadata: Metadata,
  requires: (state: State) => void = () => undefined,
): Promise<Accepted> {
  return accept(
    metadata,
    async (append, unchanged) => {
      // The key belongs to the request, not to what it changes: of two concurrent ones only one is the first.
      const id = newId('request')
      const loaded = await log.load(aggregate, target.id)
      requires(loaded.state)
      const decision = decideOn(aggregate, loaded, command, { metadata: forResource(metadata, id), now: log.now() })
      return decision === null ? unchanged(target, null) : append({ id, commit: { decisions: [decision] }, made: null })
    },
    { replayFirst: true },
  )
}

export type Opened = {
  readonly id: string
  /** True when an earlier request with this key created it; nothing was appended. */
  readonly replayed: boolean
}

/**
 * Appends the events that open a resource, once for each idempotency key: a repeated request permanently gets the resource
 * of the first one.
 *
 * @param resourceId the resource that the commit creates
 * @param metadata of the request: holds the client's idempotency key, if it sent one
 * @throws IdempotencyKeyReused when the key belongs to a different request; the errors of the append
 */
export async function appendOnce(
  log: Pick<EventLog, 'append'>,
  commit: Commit,
  { resourceId, metadata }: { readonly resourceId: string; readonly metadata: Metadata },
): Promise<Opened> {
  const { tenantId, idempotency } = metadata
  const guard = idempotency ? { idempotency: { tenantId, ...idempotency, resourceId } } : {}
  try {
    await log.append({ ...commit, guards: { ...commit.guards, ...guard } })
    return { id: resourceId, replayed: false }
  } catch (error) {
    if (!(error instanceof IdempotentReplay)) throw error
    if (error.fingerprint !== idempotency?.fingerprint) throw new IdempotencyKeyReused()
    return { id: error.resourceId, replayed: true }
  }
}

/**
 * The id of the resource that this request created before, or `null`.
 *
 * @throws IdempotencyKeyReused when the key belongs to a different request
 */
export async function findReplay(pool: Pool, { tenantId, idempotency }: Metadata): Promise<string | null> {
  if (idempotency === undefined) return null
  const { rows } = await pool.query<Pick<Row<'idempotency_keys'>, 'resource_id' | 'fingerprint'>>({
    name: 'find_replay',
    text: 'SELECT resource_id, fingerprint FROM idempotency_keys WHERE tenant_id = $1 AND key = $2',
    values: [tenantId, idempotency.key],
  })
  const [row] = rows
  if (row === undefined) return null
  if (row.fingerprint !== idempotency.fingerprint) throw new IdempotencyKeyReused()
  return row.resource_id
}
