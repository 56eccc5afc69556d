/**
 * The block interval of a local chain: one second while there are transactions to mine or settle, and Ethereum's while
 * idle, so that a sandbox left running for a week stays small. (A block costs anvil 2 KB of state file and, until it is
 * old, a copy of every account in memory.)
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeResults, encodeRequests, type RpcRequest } from '../chain/json-rpc.ts'
import { createHttpTransport } from '../chain/rpc-transport.ts'
import { followNews, type NodeNews } from './node-news.ts'

/** Blocks at the short interval after a block with transactions: enough to confirm and finalize it. */
export const SETTLING_BLOCKS = 6

/** anvil gives each block a later second than the one before: a shorter interval would run ahead of the clock. */
const BUSY_INTERVAL_MS = 1_000
const IDLE_INTERVAL_MS = 12_000
/** Interval of looks at a node that sends no news. */
const LOOK_INTERVAL_MS = 200
/** Interval of `betweenBlocks` on an idle chain. */
const TICK_MS = 1_000
const TIMEOUT_MS = 60_000

/** Called about once a second; the next block waits for it. `isIdle`: there is nothing to mine or settle. */
export type BetweenBlocks = (chain: { readonly isIdle: boolean }) => Promise<void>

export type MiningDriver = { readonly stop: () => Promise<void> }

/** A node that hangs must not block the stop. */
const STOP_GRACE_MS = 5_000

/**
 * Mines the blocks of an anvil started with `mining: 'call'` until it is stopped; waits for an unavailable node.
 */
export function mineWhenNeeded(url: string, betweenBlocks: BetweenBlocks = async () => undefined): MiningDriver {
  const ending = new AbortController()
  const done = drive(url, betweenBlocks, ending.signal)
  return {
    stop: async () => {
      ending.abort()
      await Promise.race([done, sleep(STOP_GRACE_MS, undefined, { ref: false })])
    },
  }
}

async function drive(url: string, betweenBlocks: BetweenBlocks, signal: AbortSignal): Promise<void> {
  const node = connect(url)
  let head: Head | null = null
  let minedAt = Number.NEGATIVE_INFINITY
  let news: NodeNews | null = null
  while (!signal.aborted) {
    try {
      const [number, pool] = (await node.ask([HEAD, POOL])) as [string, { pending: string }]
      head = await lookAtHead(node, Number(number), head)
      const isBusy = head.number - head.settles < SETTLING_BLOCKS || BigInt(pool.pending) > 0n
      const dueAt = minedAt + (isBusy ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS)
      if (performance.now() >= dueAt) {
        minedAt = performance.now()
        await node.ask([{ method: 'evm_mine', params: [] }])
      }
      await betweenBlocks({ isIdle: !isBusy })
      if (!isBusy) {
        news = stillOpen(news) ?? followNews(url)
        await rest(news, minedAt + IDLE_INTERVAL_MS, betweenBlocks, signal)
        continue
      }
      // While the chain is busy there is a look at each block, and no need for a message about each transaction.
      news?.close()
      news = null
      await pause(Math.max(minedAt + BUSY_INTERVAL_MS - performance.now(), 0), signal)
    } catch {
      head = null // The node is unavailable; it may return in an earlier state.
      await pause(LOOK_INTERVAL_MS, signal)
    }
  }
  news?.close()
  node.close()
}

/** Returns when the next block is due, or there may be something to mine. */
async function rest(news: NodeNews, dueAt: number, betweenBlocks: BetweenBlocks, signal: AbortSignal): Promise<void> {
  while (news.isOpen() && !signal.aborted && performance.now() < dueAt) {
    if (await news.wait(Math.max(0, Math.min(TICK_MS, dueAt - performance.now())), signal)) return
    await betweenBlocks({ isIdle: true })
  }
  if (!news.isOpen()) await pause(LOOK_INTERVAL_MS, signal)
}

function stillOpen(news: NodeNews | null): NodeNews | null {
  return news?.isOpen() ? news : null
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined) // An abort ends the wait.
}

const HEAD: RpcRequest = { method: 'eth_blockNumber', params: [] }
const POOL: RpcRequest = { method: 'txpool_status', params: [] }

/** Polled continuously: one exchange on a kept connection costs a tenth of separate requests. */
type Node = { readonly ask: (requests: readonly RpcRequest[]) => Promise<unknown[]>; readonly close: () => void }

function connect(url: string): Node {
  const transport = createHttpTransport({ url, timeoutMs: TIMEOUT_MS })
  return {
    close: transport.close,
    async ask(requests) {
      const reply = await transport.post(encodeRequests(requests))
      if (!reply.ok) throw new Error(reply.error.message)
      return decodeResults(reply.text, requests.length).map((result) => {
        if (!result.ok) throw new Error(result.error.message)
        return result.value
      })
    },
  }
}

/** The newest block, and the newest one that later blocks must settle. */
type Head = { readonly number: number; readonly settles: number }

/**
 * The blocks themselves show what must be settled: a transaction may arrive between the check of the pool and the
 * block, and others may mine blocks. A restarted node may have blocks that were not followed yet.
 */
async function lookAtHead(node: Node, number: number, last: Head | null): Promise<Head> {
  if (last === null || number < last.number) return { number, settles: number }
  if (number === last.number) return last
  const first = Math.max(last.number + 1, number - SETTLING_BLOCKS + 1)
  const counts = await node.ask(
    Array.from({ length: number - first + 1 }, (_, index) => ({
      method: 'eth_getBlockTransactionCountByNumber',
      params: [`0x${(first + index).toString(16)}`],
    })),
  )
  // The node may name a block that it cannot return yet: a block not known to be empty counts as full.
  const newest = counts.findLastIndex((count) => count !== '0x0')
  return { number, settles: newest === -1 ? last.settles : first + newest }
}
