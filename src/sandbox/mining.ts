/**
 * The block interval of a local chain: one second while there are transactions to mine or settle, and Ethereum's while
 * idle, so that a sandbox left running for a week stays small. (A block costs anvil 2 KB of state file and, until it is
 * old, a copy of every account in memory.)
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeResults, encodeRequests, type RpcRequest } from '../chain/json-rpc.ts'
import { createHttpTransport } from '../chain/rpc-transport.ts'

/** Blocks at the short interval after a block with transactions: enough to confirm and finalize it. */
export const SETTLING_BLOCKS = 6

/** anvil gives each block a later second than the one before: a shorter interval would run ahead of the clock. */
const BUSY_INTERVAL_MS = 1_000
const IDLE_INTERVAL_MS = 12_000
const LOOK_INTERVAL_MS = 200
const TIMEOUT_MS = 60_000

export type MiningDriver = { readonly stop: () => Promise<void> }

/** A node that hangs must not block the stop. */
const STOP_GRACE_MS = 5_000

/**
 * Mines the blocks of an anvil started with `mining: 'call'` until it is stopped; waits for an unavailable node.
 *
 * @param betweenBlocks called five times a second between blocks; the next block waits for it
 */
export function mineWhenNeeded(url: string, betweenBlocks: () => Promise<void> = async () => undefined): MiningDriver {
  const ending = new AbortController()
  const done = drive(url, betweenBlocks, ending.signal)
  return {
    stop: async () => {
      ending.abort()
      await Promise.race([done, sleep(STOP_GRACE_MS, undefined, { ref: false })])
    },
  }
}

async function drive(url: string, betweenBlocks: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const node = connect(url)
  let head: Head | null = null
  let minedAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    try {
      const [number, pool] = (await node.ask([HEAD, POOL])) as [string, { pending: string }]
      head = await lookAtHead(node, Number(number), head)
      const isBusy = head.number - head.settles < SETTLING_BLOCKS || BigInt(pool.pending) > 0n
      if (performance.now() - minedAt >= (isBusy ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS)) {
        minedAt = performance.now()
        await node.ask([{ method: 'evm_mine', params: [] }])
      }
      await betweenBlocks()
    } catch {
      head = null // The node is unavailable; it may return in an earlier state.
    }
    await sleep(LOOK_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
  }
  node.close()
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
