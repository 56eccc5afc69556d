/** The follower's queries on recorded transactions, over the in-memory store. */
import type { BlockReads } from '../../src/transactions/block-reads.ts'
import { IN_BLOCK_STATES } from '../../src/transactions/state.ts'
import { byId, caller, IN_FLIGHT, idsOf, isOlder, type PortsOf } from './ports.ts'

/** Few, so that there are several pages. */
const BLOCKS_OF_PAGE = 2
const PAGE = 2
const IN_BLOCK: readonly string[] = IN_BLOCK_STATES

export function createBlockPort(ports: PortsOf, addresses: readonly string[]): BlockReads {
  const { store } = ports
  const call = caller(ports)
  const all = () => [...store.transactions.values()]
  return {
    ownSenders: (_chainId, asked) =>
      call('own senders', () =>
        addresses
          .filter((address) => asked.includes(address.toLowerCase()))
          .map((address) => ({ address, signs: true })),
      ),
    byNonce: (_chainId, sent) =>
      call('by nonce', () =>
        sent.flatMap(({ address, nonce, hash }, index) =>
          all()
            .filter((row) => row.from_address === address && row.nonce === nonce && row.hashes.includes(hash))
            .map((row) => ({ id: row.transaction_id, assetId: String(row.asset_id), index })),
        ),
      ),
    inBlocksAbove: (_chainId, block) =>
      call('in blocks above', () =>
        idsOf(
          all()
            .filter((row) => (row.block_number ?? -1) > block)
            .sort(byId),
        ),
      ),
    minedUpTo: (_chainId, block) =>
      call('mined up to', () =>
        idsOf(all().filter((row) => IN_BLOCK.includes(row.state) && (row.block_number ?? block + 1) <= block)),
      ),
    recordedBlocks: (_chainId, upTo) =>
      call('recorded blocks', () => {
        const hashes = new Map(all().map((row) => [row.block_number ?? -1, String(row.block_hash)]))
        return [...hashes]
          .filter(([number]) => number >= 0 && number <= upTo)
          .sort(([a], [b]) => b - a)
          .slice(0, BLOCKS_OF_PAGE)
          .map(([number, hash]) => ({ number, hash }))
      }),
    contested: (_chainId, upTo, after) =>
      call('contested', () =>
        [...store.foreign.values()]
          .filter(({ block_number }) => block_number <= upTo)
          .flatMap(({ address, nonce, block_number: block }) =>
            all()
              .filter((row) => IN_FLIGHT.includes(row.state) && row.from_address === address && row.nonce === nonce)
              .map(({ transaction_id: id }) => ({ id, address, nonce, block })),
          )
          .filter(({ id, block }) => id > after.id || (id === after.id && block > after.block))
          .sort((a, b) => (a.id === b.id ? a.block - b.block : a.id < b.id ? -1 : 1))
          .slice(0, PAGE),
      ),
    quiet: (_chainId, unchangedMs) =>
      call('quiet', () =>
        all()
          .filter((row) => IN_FLIGHT.includes(row.state) && isOlder(row, unchangedMs, ports))
          .map((row) => ({ id: row.transaction_id, address: row.from_address, nonce: row.nonce ?? 0 }))
          .sort((a, b) => (a.address === b.address ? a.nonce - b.nonce : a.address < b.address ? -1 : 1)),
      ),
  }
}
