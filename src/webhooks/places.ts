/**
 * Which lines of webhooks this process sends right now. Those whose receivers answer quickly, those whose receivers do not,
 * and replays have places of their own, and tenants take turns for each kind.
 *
 * Invariant: a place of the quick ones is free again after `QUICK_MS`, whatever its receiver does: from then on its line counts
 * as a slow one, here and in its next turns, until a round of it was quick.
 */
import { LRUCache } from 'lru-cache'
import { atMost } from '../core/at-most.ts'
import { type Clockwork, REAL_TIME } from '../jobs/clockwork.ts'
import { createRounds } from '../jobs/rounds.ts'
import { parseLine } from './line.ts'

/** A place in use. */
export type Place = {
  /** Does work that may wait for the receiver. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>
  /** Whether others wait for a place of its kind. */
  readonly isWanted: () => boolean
}

export type Places = {
  /** Sends a line when it is its tenant's turn; one that runs is sent once more. */
  readonly put: (line: string, tenantId: string) => void
  /** Nothing begins any more. Resolves when what runs has ended. */
  readonly close: () => Promise<void>
}

type Kind = 'quick' | 'slow' | 'replays'
const KINDS: readonly Kind[] = ['quick', 'slow', 'replays']
/** Sending mostly waits for receivers. */
const AT_ONCE: Readonly<Record<Kind, number>> = { quick: 64, slow: 64, replays: 16 }
/** Of each kind, so much at most is for one tenant. */
const OF_TENANT = 7 / 8
/** A round of a receiver that answers at once takes less, and ends after half of it. */
const QUICK_MS = 1_000
/** Slow ones that are remembered. */
const REMEMBERED = 50_000

type Running = { readonly tenantId: string; kind: Kind; again: boolean; ended: Promise<void> }

export function createPlaces({
  send,
  onError,
  time = REAL_TIME,
}: {
  readonly send: (line: string, place: Place) => Promise<void>
  readonly onError: (line: string, error: unknown) => void
  readonly time?: Pick<Clockwork, 'after'>
}): Places {
  const lines = { quick: createRounds(), slow: createRounds(), replays: createRounds() }
  const running = new Map<string, Running>()
  const slow = new LRUCache<string, true>(atMost(REMEMBERED))
  let isClosed = false

  function kindOf(line: string): Kind {
    if (parseLine(line).isReplay) return 'replays'
    return slow.has(line) ? 'slow' : 'quick'
  }

  function put(line: string, tenantId: string): void {
    const own = running.get(line)
    if (own !== undefined) own.again = true
    else lines[kindOf(line)].put({ queue: 'webhook', id: line, data: { tenant_id: tenantId } })
    start()
  }

  function start(): void {
    if (isClosed) return
    for (const kind of KINDS) {
      const busy = [...running.values()].filter((one) => one.kind === kind)
      const mayHave = (tenantId: string, taken: number) =>
        busy.filter((one) => one.tenantId === tenantId).length + taken < AT_ONCE[kind] * OF_TENANT
      for (const { id, data } of lines[kind].take(Math.max(0, AT_ONCE[kind] - busy.length), mayHave))
        if (!running.has(id)) begin(id, data.tenant_id ?? '', kind)
    }
  }

  function begin(line: string, tenantId: string, kind: Kind): void {
    const own: Running = { tenantId, kind, again: false, ended: Promise.resolve() }
    running.set(line, own)
    own.ended = run(line, own)
  }

  async function run(line: string, own: Running): Promise<void> {
    const place: Place = {
      isWanted: () => lines[own.kind].size() > 0,
      during: (work) => timed(line, own, work),
    }
    await send(line, place).catch((error: unknown) => onError(line, error))
    running.delete(line)
    if (own.again) put(line, own.tenantId)
    else start()
  }

  async function timed<T>(line: string, own: Running, work: () => Promise<T>): Promise<T> {
    let isSlow = false
    const cancel = time.after(QUICK_MS, () => {
      isSlow = true
      slow.set(line, true)
      own.kind = kindOf(line)
      start()
    })
    try {
      return await work()
    } finally {
      cancel()
      if (!isSlow) slow.delete(line)
      own.kind = kindOf(line)
    }
  }

  return {
    put,
    async close() {
      isClosed = true
      await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}
