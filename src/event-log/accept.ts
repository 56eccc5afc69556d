/**
 * Accepts each client request once: prepares the changes, appends them with the request's idempotency key, prepares
 * them again after a concurrent write to the same stream, and answers a repeated request with the result of the first
 * one.
 *
 * Invariant: a request is accepted only by an append that records its key, also when it changes nothing.
 */
import type { Pool } from 'pg'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { NewId } from '../declarations.ts'
import { opened } from './aggregate.ts'
import { appendOnce } from './append-once.ts'
import { type Commit, PolicyChanged } from './commit.ts'
import { isStreamConflict, repeatOnConflict } from './commit-decisions.ts'
import { createFindReplay } from './find-replay.ts'
import type { EventLog } from './log.ts'
import { requestAggregate } from './request-aggregate.ts'

/** The prepared changes of a request. */
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

export type AcceptOptions = {
  /** Looks up the key before preparing: for requests whose preparation has effects or must not run twice. */
  readonly replayFirst?: boolean
  /** Whether to retry after this error, besides PolicyChanged; by default after StreamConflict. */
  readonly isConflict?: (error: unknown) => boolean
}

/**
 * @param attempt prepares the request from the current state and appends it, or accepts it unchanged; called again after
 *   a conflict
 * @throws errors of the attempt, unless the request's key created something before; IdempotencyKeyReused
 */
export type Accept = <Made>(
  metadata: Metadata,
  attempt: (append: AppendPrepared, unchanged: AcceptUnchanged) => Promise<Accepted<Made>>,
  options?: AcceptOptions,
) => Promise<Accepted<Made>>

export type AcceptPorts = { readonly log: Pick<EventLog, 'append' | 'now'>; readonly pool: Pool; readonly newId: NewId }

export function createAccept(ports: AcceptPorts): Accept {
  const { log, pool } = ports
  const findReplay = createFindReplay(pool)
  return async (metadata, attempt, { replayFirst = false, isConflict = isStreamConflict } = {}) => {
    const replay = async () => {
      const id = await findReplay(metadata)
      return id === null ? null : { id, replayed: true as const, made: null }
    }
    const before = replayFirst ? await replay() : null
    if (before !== null) return before
    return repeatOnConflict(
      async () => {
        try {
          return await attempt(
            (prepared) => appendPrepared(log, prepared, metadata),
            (target, made) => appendUnchanged(ports, { target, made }, metadata),
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
  { log, newId }: AcceptPorts,
  { target, made }: { readonly target: ChangeTarget; readonly made: Made },
  metadata: Metadata,
): Promise<Accepted<Made>> {
  const id = newId('request')
  if (metadata.idempotency === undefined) return { id, replayed: false, made }
  const now = log.now()
  const command = { type: 'RecordRequest', resourceId: target.id, environment: target.environment, now } as const
  const recorded = opened(requestAggregate, id, command, { metadata, now })
  return appendPrepared(log, { id, commit: { changes: [recorded] }, made }, metadata)
}
