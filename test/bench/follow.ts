/** How fast the follower comes over blocks that it missed, against reading the same blocks from the same node; by the number of wallets. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { readBlocks } from '../../src/chain/blocks.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { insertWallets } from '../support/many-rows.ts'
import type { Figure } from './report.ts'
import type { Subject } from './subject.ts'

const BLOCKS = 10_000
const BLOCKS_AT_ONCE = 100
/** The follower is at it meanwhile. */
const MINED_AT_ONCE = 500
const WALLETS = [0, 10_000, 50_000] as const
const LOOK_MS = 20
const TIMEOUT_MS = 30_000
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Blocks a second, without transactions. */
export async function benchFollow({ service }: Subject): Promise<Figure[]> {
  const { database_url, networks } = service.state()
  const { rpc_url: url, chain_id: chainId } = networks.ethereum
  const pool = new pg.Pool({ connectionString: database_url, max: 1 })
  const figures: Figure[] = []
  let wallets = 0
  for (const count of WALLETS) {
    if (count > wallets) await insertWallets(pool, { count: count - wallets, first: wallets + 1, chainId })
    wallets = count
    await pool.query('ANALYZE')
    const from = Number(await callRpc(url, 'eth_blockNumber')) + 1
    for (let mined = 0; mined < BLOCKS; mined += MINED_AT_ONCE)
      await callRpc(url, 'anvil_mine', [toQuantity(MINED_AT_ONCE)])
    const startedAt = performance.now()
    while ((await walkedTo(pool, chainId)) < from + BLOCKS - 1) await sleep(LOOK_MS)
    const ours = perSecond(startedAt)
    figures.push({
      bench: `catching up, ${count.toLocaleString('en-US')} wallets`,
      unit: 'blocks/s',
      ours,
      ceiling: await readAlone(url, chainId, from),
      ceilingIs: 'reading the same blocks and receipts, and nothing else',
      note: `${BLOCKS.toLocaleString('en-US')} empty blocks; wanted: 200`,
    })
  }
  await pool.end()
  return figures
}

async function walkedTo(pool: pg.Pool, chainId: number): Promise<number> {
  const { rows } = await pool.query<{ number: string }>('SELECT number FROM chain_cursors WHERE chain_id = $1', [
    chainId,
  ])
  return Number(rows[0]?.number ?? -1)
}

async function readAlone(url: string, chainId: number, from: number): Promise<number> {
  const client = createRpcClient({ urls: [url], chainId, timeoutMs: TIMEOUT_MS, now: Date.now, log: SILENT })
  const startedAt = performance.now()
  for (let at = from; at < from + BLOCKS; at += BLOCKS_AT_ONCE)
    await readBlocks(client, { from: at, to: at + BLOCKS_AT_ONCE - 1, blockReceipts: true })
  client.close()
  return perSecond(startedAt)
}

function perSecond(startedAt: number): number {
  return (1_000 * BLOCKS) / (performance.now() - startedAt)
}
