/**
 * Whole blocks that lead to a hash which a quorum of the nodes names. One node is asked at a time: what it shows either
 * follows from that hash by arithmetic, or the next node is asked. So a further node costs one header, not a second copy of
 * every block.
 */
import { Unavailable } from '../core/errors.ts'
import type { NodeReader, Nodes } from './agreement.ts'
import { type BlockRef, type BlocksRead, readBlocks, readHeaders } from './blocks.ts'
import type { RpcReader } from './json-rpc.ts'
import type { RecoverAddress } from './transaction-bytes.ts'

/** How blocks are read. */
export type HowToRead = {
  /** Finds who signed a transaction. Where one node is the quorum, its word on senders is as good as on all else. */
  readonly recover: RecoverAddress | null
  /** Whether to ask for the receipts of a block at once: no more, once a node has said that it cannot. */
  blockReceipts: boolean
}

export type AgreedBlocks = Pick<BlocksRead, 'blocks'> & {
  /** Why there are none; `null` when the nodes have no such block. */
  readonly wrong: string | null
}

type Wanted = {
  readonly from: number
  readonly to: number
  /** The agreed head, at `to` or above. */
  readonly head: BlockRef
  /** The hash of the block below `from`. */
  readonly parentHash: string
}

/**
 * Consecutive blocks from `from`, of which the last one has the hash that a quorum names; fewer than asked for, or none, when
 * no node shows them. Their first one may have another parent than the block before: that is a reorg.
 *
 * @throws Unavailable when no node answers
 */
export async function readAgreedBlocks(client: Nodes, how: HowToRead, wanted: Wanted): Promise<AgreedBlocks> {
  const refused: NodeReader[] = []
  let failure: unknown
  let wrong: string | null = null
  let elsewhere: AgreedBlocks | null = null
  for (const node of client.nodes()) {
    const read = await readFrom(client, node, how, wanted).catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error
      failure ??= error
      return null
    })
    if (read === null) continue
    wrong ??= read.wrong
    const [first] = read.blocks
    if (first === undefined) {
      refused.push(node)
      continue
    }
    // An agreed block with another parent is a reorg. What one node says alone is believed last.
    if (client.quorum.needed > 1 || first.parentHash === wanted.parentHash) {
      for (const other of refused) other.doubt()
      // All up to the agreed head are there: whoever shows few at a time would keep the follower behind.
      if (client.quorum.needed > 1 && read.blocks.length <= wanted.to - wanted.from) node.doubt()
      return read
    }
    elsewhere ??= read
    refused.push(node)
  }
  if (elsewhere !== null) return elsewhere
  if (refused.length === 0) throw failure
  return { blocks: [], wrong }
}

async function readFrom(client: Nodes, node: NodeReader, how: HowToRead, wanted: Wanted): Promise<AgreedBlocks> {
  const read = await readProving(client, node, how, wanted)
  const last = read.blocks.at(-1)
  if (last === undefined || client.quorum.needed === 1) return { blocks: read.blocks, wrong: read.torn }
  const agreed = last.number === wanted.head.number ? wanted.head : await agreedAt(client.agreed, last.number)
  if (agreed?.hash === last.hash) return { blocks: read.blocks, wrong: null }
  return { blocks: [], wrong: `a node shows another block ${last.number} than the others` }
}

/**
 * Where headers do not hash, the bodies are those that a quorum shows alike: that a header does not hash may be a lie, and
 * costs no more than that.
 */
async function readProving(client: Nodes, node: RpcReader, how: HowToRead, wanted: Wanted): Promise<BlocksRead> {
  const range = {
    ...wanted,
    recover: client.quorum.needed === 1 ? null : how.recover,
    blockReceipts: how.blockReceipts,
  }
  const read = await readBlocks(node, range)
  if (read.lacksBlockReceipts) how.blockReceipts = false
  if (read.hashes || client.quorum.needed === 1) return read
  return readBlocks(client.agreed, { ...range, blockReceipts: how.blockReceipts })
}

async function agreedAt(agreed: RpcReader, number: number): Promise<BlockRef | null> {
  const [header] = await readHeaders(agreed, [number])
  return header ?? null
}
