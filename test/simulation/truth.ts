/**
 * What really happened in a history with restores: which request each transaction was signed for. The service never sees
 * it; the laws compare its records with it, and the simulated operator decides by it.
 */
import type { Commit } from '../../src/event-log/commit.ts'
import { contentOf } from '../../src/transactions/content.ts'
import { isOwn, isStranger, type SimulatedChain, type Wire } from './chain.ts'
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

/** What a run must contain, or it proves nothing. */
export const FACTS = [
  'foreign equal payment before acceptance',
  'foreign equal payment after acceptance',
  'foreign equal payment with the nonce of a request',
  'forgotten signature',
  'forgotten request',
  'forgotten request, repeated with its key',
  'forgotten bump',
  'clock step across a restore',
  'reorg of a claimed hash',
  'claim',
  'hold',
  "operator's choice: claim",
  "operator's choice: new",
] as const
export type Fact = (typeof FACTS)[number]

export type Truth = ReturnType<typeof createTruth>

type Event = { readonly type: string; readonly data: Readonly<Record<string, unknown>>; readonly id: string }

/** The events of transactions in a commit. */
export function eventsOf(commit: Commit): Event[] {
  return commit.changes.flatMap(({ events }) =>
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
  /** When foreign payments were signed, in accepted requests. */
  const foreign: { readonly wire: Wire; readonly accepted: ReadonlySet<Order> }[] = []
  const facts = new Set<Fact>()
  const held = new Set<string>()
  const claimed = new Set<string>()

  const nameOf = (id: string): string => orderOf.get(id)?.key ?? id
  const isOf = (wire: Wire, id: string) => wire.signedFor !== null && nameOf(wire.signedFor) === nameOf(id)
  const isEqual = ({ to, value }: Wire, order: Order) => to === order.to && BigInt(value) === order.amount

  return {
    orders,
    orderOf,
    facts,
    /** Requests that were held, by name. */
    held,
    /** The request of an id. */
    nameOf,
    /** Whether these bytes were signed for the request of this id. */
    isOf,
    wireOf: (hash: string) => chain.sent().find((wire) => wire.hash === hash),
    foreignPayments: () => foreign.length,
    noteForeign(wire: Wire): void {
      foreign.push({ wire, accepted: new Set([...store.transactions.keys()].flatMap((id) => orderOf.get(id) ?? [])) })
    },
    noteAppended(events: readonly Event[]): void {
      for (const { id, type, data } of events) {
        if (type === 'TransferRequested') noteAccepted(id)
        if (type === 'LookalikeHeld') {
          facts.add('hold')
          held.add(nameOf(id))
        }
        if (data.claimed === true) facts.add("operator's choice: claim")
        if (type === 'LookalikeRejected' && data.by === 'operator') facts.add("operator's choice: new")
        if (data.recovered === true) {
          facts.add('claim')
          claimed.add(String(data.hash))
        }
      }
    },
    /** Whether bytes that reached a node are in no record. */
    hasLost: () =>
      chain
        .sent()
        .some(
          (wire) => isOwn(wire) && ![...store.transactions.values()].some(({ hashes }) => hashes.includes(wire.hash)),
        ),
    /** Whether a forgotten signature was seen in a block, and its request does not have it yet. */
    awaitsClaim: () =>
      [...store.outside.values()].some(({ hash }) => {
        const wire = chain.sent().find((one) => one.hash === hash)
        return (
          wire !== undefined &&
          [...store.transactions].some(([id, { hashes }]) => isOf(wire, id) && !hashes.includes(hash))
        )
      }),
    /** How deep the newest block with a claimed transaction is; `null` for none. */
    depthOfClaim(): number | null {
      const blocks = chain.blocks()
      const index = blocks.findLastIndex(({ transactions }) => transactions.some(({ hash }) => claimed.has(hash)))
      return index < 0 ? null : blocks.length - index
    },
    /** Called before blocks leave the chain. */
    noteReorg(left: readonly { readonly transactions: readonly Wire[] }[]): void {
      if (left.some(({ transactions }) => transactions.some(({ hash }) => claimed.has(hash))))
        facts.add('reorg of a claimed hash')
    },
    noteForgotten(commits: readonly Commit[]): void {
      const wasSent = (hash: unknown) => chain.sent().some((wire) => wire.hash === hash)
      for (const { id, type, data } of commits.flatMap(eventsOf)) {
        const isKnown = store.transactions.has(id)
        if (type === 'TransferRequested') facts.add('forgotten request')
        if (type === 'TransactionSigned' && isKnown && wasSent(data.hash)) facts.add('forgotten signature')
        const { state } = store.transactions.get(id) ?? {}
        if (type === 'TransactionReplaced' && state !== undefined && state !== 'requested' && wasSent(data.hash))
          facts.add('forgotten bump')
      }
    },
    /** At the end: which foreign payments of the chain equal a request. */
    noteForeignPayments(): void {
      const mined = new Set(chain.blocks().flatMap(({ transactions }) => transactions.map(({ hash }) => hash)))
      for (const { wire, accepted } of foreign) {
        if (!mined.has(wire.hash)) continue
        if ([...accepted].some((order) => isEqual(wire, order))) facts.add('foreign equal payment after acceptance')
        if (orders.some((order) => order.id !== null && !accepted.has(order) && isEqual(wire, order)))
          facts.add('foreign equal payment before acceptance')
        const ofRequest = (other: Wire) => other.from === wire.from && other.nonce === wire.nonce && !isStranger(other)
        if (chain.sent().some((other) => ofRequest(other) && contentOfWire(other) === contentOfWire(wire)))
          facts.add('foreign equal payment with the nonce of a request')
      }
    },
  }

  function noteAccepted(id: string): void {
    const order = orderOf.get(id)
    if (order?.key != null && [...orderOf].some(([other, one]) => one === order && other !== id))
      facts.add('forgotten request, repeated with its key')
  }
}

function contentOfWire({ to, value }: Wire): string {
  return contentOf({ to, value: BigInt(value), data: '0x' })
}
