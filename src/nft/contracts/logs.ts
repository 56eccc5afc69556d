/**
 * NFT transfers from contract logs. Parsed at the byte level, since this runs for every log of every block. A log that
 * violates the standard is not a transfer: any contract may log anything.
 */
import { TRANSFER_TOPIC } from '../../chain/erc20.ts'
import { wordAt } from '../../chain/hex.ts'
import type { TokenStandard } from './collection.ts'

/** keccak256 of `TransferSingle(address,address,address,uint256,uint256)`. */
export const TRANSFER_SINGLE_TOPIC = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
/** keccak256 of `TransferBatch(address,address,address,uint256[],uint256[])`. */
export const TRANSFER_BATCH_TOPIC = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
/** keccak256 of `VoucherRevoked(uint256)`: the id is indexed. */
export const VOUCHER_REVOKED_TOPIC = '0xaf7583fc53c710c886c2d2092e3c5531e16142a4ca1e89c557f30ca3ed93c0f8'
/** keccak256 of `CollectionDeployed(address,address,address,uint8,bytes32)` of a factory. */
export const COLLECTION_DEPLOYED_TOPIC = '0xdf50d30319442a1176ec87ff6522fa93380b3e4f87d9b989471bfea1fbefff16'

export type MovedTokens = {
  readonly standard: TokenStandard
  /** Lower case, like `to`. The zero address for a mint. */
  readonly from: string
  /** The zero address for a burn. */
  readonly to: string
  readonly tokens: readonly { readonly tokenId: bigint; readonly amount: bigint }[]
}

type Log = { readonly topics: readonly string[]; readonly data: string }

/** The earliest word at which the two arrays of a TransferBatch can start: after their two offsets. */
const BATCH_HEAD_WORDS = 2

/** @returns `null` for any other log, including the Transfer of ERC-20 */
export function parseNftTransferLog(log: Log): MovedTokens | null {
  switch (log.topics[0]) {
    case TRANSFER_TOPIC:
      return parseErc721(log)
    case TRANSFER_SINGLE_TOPIC:
      return parseErc1155(log, readSingle(log.data))
    case TRANSFER_BATCH_TOPIC:
      return parseErc1155(log, readBatch(log.data))
    default:
      return null
  }
}

function parseErc721({ topics }: Log): MovedTokens | null {
  const [from, to] = [addressIn(topics[1]), addressIn(topics[2])]
  const tokenId = topics.length === 4 ? wordAt(topics[3] ?? '', 0) : null
  if (from === null || to === null || tokenId === null) return null
  return { standard: 'ERC721', from, to, tokens: [{ tokenId, amount: 1n }] }
}

function parseErc1155({ topics }: Log, tokens: MovedTokens['tokens'] | null): MovedTokens | null {
  const [from, to] = [addressIn(topics[2]), addressIn(topics[3])]
  if (topics.length !== 4 || from === null || to === null || tokens === null) return null
  return { standard: 'ERC1155', from, to, tokens }
}

function readSingle(data: string): MovedTokens['tokens'] | null {
  const [tokenId, amount] = [wordAt(data, 0), wordAt(data, 1)]
  return tokenId === null || amount === null ? null : [{ tokenId, amount }]
}

function readBatch(data: string): MovedTokens['tokens'] | null {
  const [ids, amounts] = [readArray(data, 0), readArray(data, 1)]
  if (ids === null || amounts === null || ids.length !== amounts.length) return null
  return ids.map((tokenId, i) => ({ tokenId, amount: amounts[i] ?? 0n }))
}

/** The uint256[] whose offset is in the word at `head`; `null` unless the data contains all of it. */
function readArray(data: string, head: number): bigint[] | null {
  const offset = wordAt(data, head)
  const words = Math.floor((data.length - 2) / 64)
  if (offset === null || offset % 32n !== 0n || offset / 32n >= BigInt(words)) return null
  const start = Number(offset / 32n)
  const length = wordAt(data, start)
  if (start < BATCH_HEAD_WORDS || length === null || length > BigInt(words - start - 1)) return null
  return Array.from({ length: Number(length) }, (_, i) => wordAt(data, start + 1 + i) ?? 0n)
}

function addressIn(topic: string | undefined): string | null {
  return topic?.length === 66 ? `0x${topic.slice(26).toLowerCase()}` : null
}
