/**
 * The pace of a local chain: a second after the last block while there is something to mine or to settle, and the pace
 * of Ethereum while nothing happens, so that a sandbox left alone for a week stays small. (A block costs anvil 2 KB of
 * state file and, until it is old, a copy of every account in memory.)
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { callRpc } from './rpc.ts'

/** Blocks that follow a block with transactions at the quick pace: enough to confirm and to finalize it. */
export const SETTLING_BLOCKS = 6

/** anvil gives each block a later second than the one before: a quicker chain would run ahead of the clock. */
const BUSY_INTERVAL_MS = 1_000
const IDLE_INTERVAL_MS = 12_000
const LOOK_INTERVAL_MS = 100

export type MiningDriver = { readonly stop: () => Promise<void> }

/** A node that hangs must not keep the stop from ending it. */
const STOP_GRACE_MS = 5_000

/**
 * Drives an anvil that was started with `mining: 'call'` until it is stopped; a node that is away is waited for.
 *
 * @param betweenBlocks called ten times a second while no block is made; the next one waits for it
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
  let head: Head | null = null
  let minedAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    try {
      head = await lookAtHead(url, head)
      const isBusy = head.number - head.settles < SETTLING_BLOCKS || (await hasPending(url))
      if (performance.now() - minedAt >= (isBusy ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS)) {
        minedAt = performance.now()
        await callRpc(url, 'evm_mine')
      }
      await betweenBlocks()
    } catch {
      head = null // The node is away. It comes back behind, or in the middle of something.
    }
    await sleep(LOOK_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** The newest block, and the newest one that is to be settled by those after it. */
type Head = { readonly number: number; readonly settles: number }

/**
 * The blocks themselves say what is to be settled: a transaction may come between the look at the pool and the block, and
 * others than the driver make blocks. A node that was just started may hold what nobody has followed yet.
 */
async function lookAtHead(url: string, last: Head | null): Promise<Head> {
  const number = Number(await callRpc(url, 'eth_blockNumber'))
  if (last === null || number < last.number) return { number, settles: number }
  for (let block = number; block > Math.max(last.number, number - SETTLING_BLOCKS); block -= 1) {
    const count = await callRpc(url, 'eth_getBlockTransactionCountByNumber', [`0x${block.toString(16)}`])
    // The node may name a block that it cannot show yet: what is not known to be empty counts as full.
    if (count !== '0x0') return { number, settles: block }
  }
  return { number, settles: last.settles }
}

async function hasPending(url: string): Promise<boolean> {
  const status = (await callRpc(url, 'txpool_status')) as { pending: string }
  return BigInt(status.pending) > 0n
}
