/** Token moves of followed contracts in blocks. Pure. */
import { toChecksumAddress } from '../../chain/address.ts'
import type { Block, ChainLogEntry } from '../../chain/blocks.ts'
import { TRANSFER_TOPIC } from '../../chain/erc20.ts'
import { parseNftTransferLog, TRANSFER_BATCH_TOPIC, TRANSFER_SINGLE_TOPIC } from '../contracts/logs.ts'
import type { MovesOfBlock, TokenMove } from './events.ts'

const TOPICS: readonly (string | undefined)[] = [TRANSFER_TOPIC, TRANSFER_SINGLE_TOPIC, TRANSFER_BATCH_TOPIC]
/** Three indexed fields and the signature; the Transfer of ERC-20 has two indexed fields. */
const TOPICS_OF_NFT = 4

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

/** Contracts with logs like a collection's, in lower case: most of them are foreign. */
export function contractsMoving(blocks: readonly Block[]): string[] {
  return [...new Set(logsOf(blocks).map(({ address }) => address))]
}

/**
 * The moves of each contract, block by block, oldest first; blocks without its moves are left out.
 *
 * @param contracts EIP-55
 * @returns by contract, EIP-55
 */
export function movesIn(
  blocks: readonly Block[],
  chainId: number,
  contracts: readonly string[],
): ReadonlyMap<string, MovesOfBlock[]> {
  const followed = new Map(contracts.map((contract) => [contract.toLowerCase(), contract]))
  const moved = new Map<string, MovesOfBlock[]>()
  const checksummed = rememberChecksums()
  for (const block of blocks) {
    const ofBlock = new Map<string, TokenMove[]>()
    for (const log of logsOf([block])) {
      const contract = followed.get(log.address)
      if (contract === undefined) continue
      const moves = ofBlock.get(contract) ?? []
      moves.push(...movesOf(log, checksummed))
      ofBlock.set(contract, moves)
    }
    for (const [contract, single] of ofBlock) {
      const moves = sumOf(single)
      if (moves.length === 0) continue
      const { number: blockNumber, hash: blockHash } = block
      const all = moved.get(contract) ?? []
      all.push({ chainId, contract, blockNumber, blockHash, moves })
      moved.set(contract, all)
    }
  }
  return moved
}

function logsOf(blocks: readonly Block[]): ChainLogEntry[] {
  return blocks.flatMap(({ transactions }) =>
    transactions.flatMap(({ logs }) =>
      logs.filter(({ topics }) => topics.length === TOPICS_OF_NFT && TOPICS.includes(topics[0])),
    ),
  )
}

/**
 * Equal moves of a block as one, and none from a holder to itself: one call of ERC-1155 can name the same id thousands of
 * times, and the log would keep each.
 */
function sumOf(moves: readonly TokenMove[]): TokenMove[] {
  const sums = new Map<string, TokenMove>()
  for (const move of moves) {
    const { tokenId, from, to, amount } = move
    if (from === to) continue
    const key = `${tokenId} ${from} ${to}`
    const sum = BigInt(sums.get(key)?.amount ?? 0) + BigInt(amount)
    sums.set(key, { ...move, amount: sum.toString() })
  }
  return [...sums.values()]
}

/** Moves of zero units are left out: they change no holder. */
function movesOf(log: ChainLogEntry, checksummed: (address: string) => string): TokenMove[] {
  const moved = parseNftTransferLog(log)
  if (moved === null) return []
  const [from, to] = [moved.from, moved.to].map((address) => (address === ZERO_ADDRESS ? null : checksummed(address)))
  return moved.tokens
    .filter(({ amount }) => amount > 0n)
    .map(({ tokenId, amount }) => ({
      tokenId: tokenId.toString(),
      from: from ?? null,
      to: to ?? null,
      amount: amount.toString(),
    }))
}

/** Caches checksums: each costs a keccak, and a block that mints thousands contains the same few addresses. */
function rememberChecksums(): (address: string) => string {
  const known = new Map<string, string>()
  return (address) => {
    const checksum = known.get(address) ?? toChecksumAddress(address)
    known.set(address, checksum)
    return checksum
  }
}
