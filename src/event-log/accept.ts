/**
 * Accepts the requests of clients, each once: prepares what a request makes, appends it with its idempotency key, prepares it anew
 * when somebody else changed the same stream in between, and answers a repeated request with what the first one made.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Metadata } from '../core/messages.ts'
import { appendOnce } from './append-once.ts'
import { type Commit, StreamConflict } from './commit.ts'
import { createFindReplay } from './find-replay.ts'
import type { EventLog } from './log.ts'

/** Ends a request that others overtake every time: each time another process was quicker. */
const MAX_TRIES = 50
const LONGEST_PAUSE_MS = 40

/** What a request makes, ready to be appended. */
export type Prepared<Made> = {
  /** The resource, which the request's idempotency key names from then on. */
  readonly id: string
  readonly commit: Commit
  /** Turns a refusal of the append into an error for the client; any other error comes back as it is. */
  readonly explain?: (refusal: unknown) => unknown
  /** Handed to the caller when it was appended. */
  readonly made: Made
}

export type Accepted<Made = unknown> =
  | { readonly id: string; readonly replayed: false; readonly made: Made }
  /** An earlier request with the same key made it; nothing was appended. */
  | { readonly id: string; readonly replayed: true; readonly made: null }

/** @throws IdempotencyKeyReused when the key belongs to another request; what the append throws, explained */
export type AppendPrepared = <Made>(prepared: Prepared<Made>) => Promise<Accepted<Made>>

export type AcceptOptions = {
  /** Looks for the key before anything is prepared: where preparing has effects, or a request must not be judged twice. */
  readonly replayFirst?: boolean
  /** Whether the attempt is made again after this error; a StreamConflict unless it is given. */
  readonly isConflict?: (error: unknown) => boolean
}

/**
 * @param attempt prepares the request on what is known now, and appends it unless it is fulfilled; called again after a conflict
 * @throws what the attempt throws, when the request's key made nothing before; IdempotencyKeyReused
 */
export type Accept = <Made>(
  metadata: Metadata,
  attempt: (append: AppendPrepared) => Promise<Accepted<Made>>,
  options?: AcceptOptions,
) => Promise<Accepted<Made>>

export function createAccept({ log, pool }: { readonly log: Pick<EventLog, 'append'>; readonly pool: Pool }): Accept {
  const findReplay = createFindReplay(pool)
  return async (metadata, attempt, { replayFirst = false, isConflict = isStreamConflict } = {}) => {
    const replay = async () => {
      const id = await findReplay(metadata)
      return id === null ? null : { id, replayed: true as const, made: null }
    }
    let appends = 0
    const append: AppendPrepared = (prepared) => {
      appends += 1
      return appendPrepared(log, prepared, metadata)
    }
    const before = replayFirst ? await replay() : null
    if (before !== null) return before
    for (let tries = 1; ; tries += 1) {
      try {
        appends = 0
        const accepted = await attempt(append)
        // Nothing was left to do: perhaps because a request with the same key did it at the same instant.
        return appends > 0 ? accepted : ((await replay()) ?? accepted)
      } catch (error) {
        // A request that is refused now may be the repetition of one that was accepted.
        const earlier = await replay()
        if (earlier !== null) return earlier
        if (!isConflict(error) || tries >= MAX_TRIES) throw error
        await sleep(Math.random() * LONGEST_PAUSE_MS)
      }
    }
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

function isStreamConflict(error: unknown): boolean {
  return error instanceof StreamConflict
}
