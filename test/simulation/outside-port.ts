/** What the log and the follower know of the transactions that a lane sent, over the in-memory store. */
import type { Lane } from '../../src/transactions/lanes.ts'
import type { LaneKnowledge, OutsideReads } from '../../src/transactions/outside.ts'
import { caller, IN_FLIGHT, ofLane, type PortsOf } from './ports.ts'
import type { OutsideRow } from './store.ts'

const byNonce = (a: { readonly nonce: number }, b: { readonly nonce: number }) => a.nonce - b.nonce

/** Same as the statements of `createOutsideReads`. */
export function createOutsidePort(ports: PortsOf): OutsideReads {
  const { store } = ports
  const call = caller(ports)
  const of = (address: string) => [...store.outside.values()].filter((row) => row.address === address).sort(byNonce)
  const read = ({ nonce, hash, content, tag }: OutsideRow) => ({ nonce, hash, content, tag })

  const knowledgeOf = (lane: Lane): LaneKnowledge => ({
    next: Math.max(-1, ...ofLane(store, lane).map(({ nonce }) => nonce ?? -1)) + 1,
    cursor: store.cursor(),
    epoch: String(store.epoch()),
    outside: Math.max(-1, ...of(lane.address).map(({ nonce }) => nonce)) + 1,
    taken:
      Math.max(-1, ...[...store.foreign.values()].flatMap((row) => (row.address === lane.address ? [row.nonce] : []))) +
      1,
  })

  return {
    knowledge: (lane) => call('lane knowledge', () => knowledgeOf(lane)),
    loose: (lane, { tags, contents }) =>
      call('loose outside', () => {
        const own = ofLane(store, lane)
        const loose = of(lane.address)
          .filter(({ tag, content }) => (tag !== null && tags.includes(tag)) || contents.includes(content))
          .filter((row) => !own.some(({ hashes }) => hashes.includes(row.hash)))
          .map((row) => ({ ...read(row), isTaken: own.some(({ nonce }) => nonce === row.nonce) }))
        return { known: knowledgeOf(lane), loose }
      }),
    assigned: (lane, from, to) =>
      call(
        'nonces assigned',
        () => ofLane(store, lane).filter(({ nonce }) => nonce !== null && nonce >= from && nonce < to).length,
      ),
    overtaken: (lane) =>
      call('overtaken', () =>
        of(lane.address).flatMap((row) =>
          ofLane(store, lane)
            .filter(
              ({ state, nonce, hashes }) =>
                IN_FLIGHT.includes(state) && nonce === row.nonce && !hashes.includes(row.hash),
            )
            .map(({ transaction_id: id }) => ({ ...read(row), id })),
        ),
      ),
  }
}
