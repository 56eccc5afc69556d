/**
 * Where to continue after a reorg deeper than the kept hashes: a block that the log knows and the node still has.
 * Everything recorded above it is undone and processed again, so that nothing of the abandoned branch remains.
 */
import { type BlockHeader, type BlockRef, readHeaders } from '../chain/blocks.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import type { ChainKey } from '../core/networks.ts'
import type { EventLog } from '../event-log/log.ts'
import { chainAggregate, chainStream } from './aggregate.ts'
import type { ChainEvent } from './events.ts'

const HEADERS_AT_ONCE = 64

/**
 * The newest recorded block that the node has, at `highest` or below. If there is none, the block below the lowest
 * recorded one; if nothing is recorded, `highest`.
 *
 * @throws Unavailable when the node does not answer
 */
export async function findGround(
  {
    log,
    client,
    chain,
    recordedBlocks,
  }: {
    readonly log: EventLog
    readonly client: RpcReader
    readonly chain: ChainKey
    /** Recorded blocks at a height or below, newest first: a page, empty when there are no more. */
    readonly recordedBlocks: (upTo: number) => Promise<readonly BlockRef[]>
  },
  highest: BlockRef,
): Promise<BlockRef> {
  const advanced = await log.readStream<ChainEvent>(chainAggregate, chainStream(chain))
  const known = advanced
    .flatMap((event) => (event.type === 'FollowerAdvanced' ? [event.data.block] : []))
    .filter(({ number }) => number <= highest.number)
    .reverse()
  const walked = await newestShown(client, known)
  let lowest: BlockHeader | null = walked.lowest
  let upTo = highest.number
  while (upTo > (walked.shown?.number ?? -1)) {
    const page = await recordedBlocks(upTo)
    const last = page.at(-1)
    if (last === undefined) break
    const { shown, lowest: below } = await newestShown(client, page)
    if (shown !== null) return walked.shown !== null && walked.shown.number > shown.number ? walked.shown : shown
    lowest = lower(lowest, below)
    upTo = last.number - 1
  }
  if (walked.shown !== null) return walked.shown
  return lowest === null ? highest : { number: lowest.number - 1, hash: lowest.parentHash }
}

/**
 * The newest of these blocks that the node has, or else the node's block at the height of the lowest. @param blocks
 * newest first
 */
async function newestShown(
  client: RpcReader,
  blocks: readonly BlockRef[],
): Promise<{ shown: BlockRef | null; lowest: BlockHeader | null }> {
  let lowest: BlockHeader | null = null
  for (let start = 0; start < blocks.length; start += HEADERS_AT_ONCE) {
    const some = blocks.slice(start, start + HEADERS_AT_ONCE)
    const headers = await readHeaders(
      client,
      some.map(({ number }) => number),
    )
    const at = some.findIndex(({ hash }, index) => headers[index]?.hash === hash)
    if (at !== -1) return { shown: some[at] ?? null, lowest }
    lowest = lower(lowest, headers.at(-1) ?? null)
  }
  return { shown: null, lowest }
}

function lower(a: BlockHeader | null, b: BlockHeader | null): BlockHeader | null {
  if (a === null || b === null) return a ?? b
  return a.number <= b.number ? a : b
}
