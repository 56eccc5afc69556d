/**
 * What really happened in a history with restores: which request each transaction was signed for. The service never sees
 * it; the laws compare its records with it, and the simulated operator decides by it.
 */
import type { Commit } from '../../src/event-log/append.ts'
import { isOwn, type SimulatedChain, type Wire } from './chain.ts'
import type { Store } from './store.ts'

/** A client's wish. Its name is its idempotency key, or where none was sent the id that the service answered with. */
export type Order = {
  readonly key: string | null
  readonly to: string
  readonly amount: bigint
  readonly gasPriority: 'low' | 'medium' | 'high'
  readonly validUntil: string | null
  /** Whether the client sends it again after the service has forgotten it. */
  readonly isRepeated: boolean
  /** The id that the service answered with; `null` before. */
  id: string | null
}

export type Truth = ReturnType<typeof createTruth>

export type TransactionFact = {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly id: string
}

/** The events of transactions in a commit. */
export function eventsOf(commit: Commit): TransactionFact[] {
  return commit.decisions.flatMap(({ events }) =>
    events.flatMap(({ streamId, canonical }) => {
      if (!streamId.startsWith('transaction-')) return []
      const { type, data } = JSON.parse(canonical)
      return [{ type, data, id: streamId.slice('transaction-'.length) }]
    }),
  )
}

export function createTruth({ chain, store }: { readonly chain: SimulatedChain; readonly store: Store }) {
  const orders: Order[] = []
  /** By id, also of requests that the service has forgotten. */
  const orderOf = new Map<string, Order>()
  const nameOf = (id: string): string => orderOf.get(id)?.key ?? id
  const isOf = (wire: Wire, id: string) => wire.signedFor !== null && nameOf(wire.signedFor) === nameOf(id)
  const wireOf = (hash: string) => chain.sent().find((wire) => wire.hash === hash)
  return {
    orders,
    orderOf,
    /** The request of an id. */
    nameOf,
    /** Whether these bytes were signed for the request of this id. */
    isOf,
    /** What a node ever accepted under this hash. */
    wireOf,
    /** Whether bytes that reached a node are in no record. */
    hasLost(): boolean {
      const known = new Set([...store.transactions.values()].flatMap(({ hashes }) => hashes))
      return chain.sent().some((wire) => isOwn(wire) && !known.has(wire.hash))
    },
    /** Whether a forgotten signature was seen in a block, and its request does not have it yet. */
    awaitsClaim: () =>
      [...store.outside.values()].some(({ hash }) => {
        const wire = wireOf(hash)
        const isWanted = (id: string, hashes: readonly string[]) =>
          wire !== undefined && isOf(wire, id) && !hashes.includes(hash)
        return [...store.transactions].some(([id, { hashes }]) => isWanted(id, hashes))
      }),
  }
}
