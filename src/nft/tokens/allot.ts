/**
 * Assigns token numbers: 1, 2, 3 … in each collection. Concurrent mints of a collection share a round: each gets the
 * numbers after the previous one, and all are appended in parallel.
 *
 * Invariant: no number is assigned twice. The index `nft_tokens_id_once` refuses one that another process assigned;
 * those mints are retried with later numbers. In a round the transactions are created in number order, in which a lane
 * signs them: a SERIES must be released in order. A mint refused at its append leaves its numbers unused if a later one
 * of its round follows.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { Conflict, Unavailable } from '../../core/errors.ts'
import { UniqueRuleBroken } from '../../event-log/append.ts'
import { countTokens, nextTokenId } from './token-rows.ts'

/** One batch of the group commit. */
const MAX_ROUND = 128
/** Bound on retries that lose to another process each time. */
const MAX_TRIES = 50
const LONGEST_PAUSE_MS = 40

export type Place = {
  readonly firstTokenId: number
  /** The number of earlier tokens of the collection, without failed ones; set if it was requested. */
  readonly ordinal: number | null
}

/** Prepares a mint for its assigned numbers. Returns its append, which starts after the next one is prepared. */
export type Take<Result> = (place: Place) => Promise<() => Promise<Result>>

export type Allotment = {
  readonly collectionId: string
  readonly count: number
  readonly maxSupply: number | null
  /** Whether `take` needs the ordinal. */
  readonly ordered: boolean
}

/** @throws Conflict `max_supply_reached`; Unavailable `collection_contended`; errors of `take` and its append */
export type Allot = <Result>(allotment: Allotment, take: Take<Result>) => Promise<Result>

type Waiting = {
  readonly allotment: Allotment
  readonly take: Take<unknown>
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
  tries: number
}

export function createAllot(pool: Pool): Allot {
  const queues = new Map<string, Waiting[]>()

  async function run(collectionId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const round = queue.splice(0, MAX_ROUND)
      const conflicted = await runRound(pool, collectionId, round).catch((error) => {
        for (const { reject } of round) reject(error)
        return []
      })
      if (conflicted.length === 0) continue
      queue.unshift(...conflicted)
      await delay(Math.random() * LONGEST_PAUSE_MS)
    }
    queues.delete(collectionId)
  }

  return (allotment, take) =>
    new Promise((resolve, reject) => {
      const { collectionId } = allotment
      const waiting: Waiting = { allotment, take, resolve, reject, tries: 0 }
      const queue = queues.get(collectionId)
      if (queue !== undefined) {
        queue.push(waiting)
        return
      }
      const started = [waiting]
      queues.set(collectionId, started)
      // After this turn of the event loop, so that requests that arrived together share a round.
      setImmediate(() => void run(collectionId, started))
    })
}

/** @returns the mints whose numbers another process assigned meanwhile */
async function runRound(pool: Pool, collectionId: string, round: readonly Waiting[]): Promise<Waiting[]> {
  const conflicted: Waiting[] = []
  const appends: Promise<void>[] = []
  let next = await nextTokenId(pool, collectionId)
  let ordinal = await ordinalOf(pool, collectionId, next, round)
  for (const waiting of round) {
    const { allotment, take } = waiting
    try {
      requireRoom(allotment, ordinal)
      const append = await take({ firstTokenId: next, ordinal })
      next += allotment.count
      if (ordinal !== null) ordinal += allotment.count
      appends.push(settle(waiting, append, conflicted))
    } catch (error) {
      waiting.reject(error)
    }
  }
  await Promise.all(appends)
  return conflicted
}

async function settle(waiting: Waiting, append: () => Promise<unknown>, conflicted: Waiting[]): Promise<void> {
  try {
    waiting.resolve((await append()) as never)
  } catch (error) {
    const taken = error instanceof UniqueRuleBroken && error.constraint === 'nft_tokens_id_once'
    if (!taken) return waiting.reject(error)
    waiting.tries += 1
    if (waiting.tries < MAX_TRIES) conflicted.push(waiting)
    else
      waiting.reject(
        new Unavailable('collection_contended', 'The collection has too many concurrent mints: try again.'),
      )
  }
}

/** Not counted while even all numbers together are within the maximum. */
async function ordinalOf(
  pool: Pool,
  collectionId: string,
  next: number,
  round: readonly Waiting[],
): Promise<number | null> {
  const wanted = round.reduce((sum, { allotment }) => sum + allotment.count, 0)
  const counted = round.some(
    ({ allotment: { ordered, maxSupply } }) => ordered || (maxSupply !== null && next - 1 + wanted > maxSupply),
  )
  return counted ? countTokens(pool, collectionId, null) : null
}

function requireRoom({ maxSupply, count }: Allotment, ordinal: number | null): void {
  if (maxSupply === null || ordinal === null || ordinal + count <= maxSupply) return
  const left = Math.max(0, maxSupply - ordinal)
  throw new Conflict(
    'max_supply_reached',
    `The maximum supply of the collection is ${maxSupply} and it has ${ordinal} tokens, including pending ones: ${left === 0 ? 'no more tokens can be minted' : `mint at most ${left} more`}.`,
    { max_supply: maxSupply, minted: ordinal, remaining: left },
  )
}
