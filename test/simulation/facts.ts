/** What happened in a history with restores: a run in which one of it is missing proves little. */
import type { Commit } from '../../src/event-log/append.ts'
import { isOwn, type SimulatedChain, type Wire } from './chain.ts'
import type { Store } from './store.ts'
import { eventsOf, type Order, type TransactionFact, type Truth } from './truth.ts'

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

export type Facts = ReturnType<typeof createFacts>

type Parts = { readonly chain: SimulatedChain; readonly store: Store; readonly truth: Truth }

export function createFacts({ chain, store, truth }: Parts) {
  const seen = new Set<Fact>()
  const held = new Set<string>()
  const claimed = new Set<string>()
  /** The ids of each request that the service accepted. */
  const accepted = new Map<string, Set<string>>()

  function noteAccepted(id: string): void {
    const ids = accepted.get(truth.nameOf(id)) ?? new Set()
    accepted.set(truth.nameOf(id), ids.add(id))
    if (ids.size > 1) seen.add('forgotten request, repeated with its key')
  }
  return {
    seen,
    /** Requests that were held, by name. */
    held,
    noteAppended(events: readonly TransactionFact[]): void {
      for (const { id, type, data } of events) {
        if (type === 'TransferRequested') noteAccepted(id)
        if (type === 'LookalikeHeld') {
          seen.add('hold')
          held.add(truth.nameOf(id))
        }
        if (data.claimed === true) seen.add("operator's choice: claim")
        if (type === 'LookalikeRejected' && data.by === 'operator') seen.add("operator's choice: new")
        if (data.recovered === true) {
          seen.add('claim')
          claimed.add(String(data.hash))
        }
      }
    },
    noteForgotten(commits: readonly Commit[]): void {
      for (const { id, type, data } of commits.flatMap(eventsOf)) {
        const state = store.transactions.get(id)?.state
        const wasSent = truth.wireOf(String(data.hash)) !== undefined
        if (type === 'TransferRequested') seen.add('forgotten request')
        if (type === 'TransactionSigned' && state !== undefined && wasSent) seen.add('forgotten signature')
        if (type === 'TransactionReplaced' && state !== undefined && state !== 'requested' && wasSent)
          seen.add('forgotten bump')
      }
    },
    /** How deep the newest block with a claimed transaction is; `null` for none. */
    depthOfClaim(): number | null {
      if (claimed.size === 0) return null
      const blocks = chain.blocks()
      const index = blocks.findLastIndex(({ transactions }) => transactions.some(({ hash }) => claimed.has(hash)))
      return index < 0 ? null : blocks.length - index
    },
    /** Called before blocks leave the chain. */
    noteReorg(left: readonly { readonly transactions: readonly Wire[] }[]): void {
      if (left.some(({ transactions }) => transactions.some(({ hash }) => claimed.has(hash))))
        seen.add('reorg of a claimed hash')
    },
    foreign: createForeign({ chain, store, truth }, seen),
  }
}

/** Payments of another program that equal one of a client. */
function createForeign({ chain, store, truth }: Parts, seen: Set<Fact>) {
  const made: { readonly wire: Wire; readonly accepted: ReadonlySet<Order> }[] = []
  const isEqual = ({ to, value }: Wire, order: Order) => to === order.to && BigInt(value) === order.amount
  const doesSame = (one: Wire, other: Wire) => one.to === other.to && one.value === other.value
  const ordersNow = () => new Set([...store.transactions.keys()].flatMap((id) => truth.orderOf.get(id) ?? []))
  return {
    count: () => made.length,
    note: (wire: Wire) => void made.push({ wire, accepted: ordersNow() }),
    /** At the end: those on the chain count. */
    settle(): void {
      const mined = new Set(chain.blocks().flatMap(({ transactions }) => transactions.map(({ hash }) => hash)))
      for (const { wire, accepted } of made.filter((one) => mined.has(one.wire.hash))) {
        if ([...accepted].some((order) => isEqual(wire, order))) seen.add('foreign equal payment after acceptance')
        if (truth.orders.some((order) => order.id !== null && !accepted.has(order) && isEqual(wire, order)))
          seen.add('foreign equal payment before acceptance')
        const { from, nonce } = wire
        if (
          chain
            .sent()
            .some((other) => isOwn(other) && other.from === from && other.nonce === nonce && doesSame(other, wire))
        )
          seen.add('foreign equal payment with the nonce of a request')
      }
    },
  }
}
