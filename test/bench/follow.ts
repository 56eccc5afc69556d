/**
 * The cost of following a chain with many wallets: the speed of processing missed blocks, compared with only reading
 * them from the same node; the duration of the first observation of new wallets; and the latency of requests and blocks
 * meanwhile.
 *
 * The sandbox's own follower is paused. A follower with the same parts and settings runs in this process, and is
 * stopped while blocks are mined. Measured from the first step that it commits.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { toQuantity } from '../../src/chain/hex.ts'
import { startChainFollower } from '../../src/compose/chain-follower.ts'
import { composeKernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { insertWallets, walletAddress } from '../support/many-rows.ts'
import { runWorker } from '../support/service-local.ts'
import { readBlocksAlone, readNativesAlone } from './follow-alone.ts'
import { runLoad } from './load.ts'
import { mineTransfers } from './mine-transfers.ts'
import { benchObserveBlock } from './observe-block.ts'
import type { Figure } from './report.ts'
import { authHeaders, fundedWallets, type Subject } from './subject.ts'

/** Wallets of the chain, and blocks missed then: anvil takes a minute for 10,000. */
const ROUNDS = [
  { wallets: 0, blocks: 10_000 },
  { wallets: 10_000, blocks: 2_000 },
  { wallets: 50_000, blocks: 2_000 },
] as const
const READ_BESIDE_BLOCKS = 4_000
const MINED_AT_ONCE = 200
const WANTED_PER_SECOND = 200
const BUSY_BLOCKS = 300
const TRANSFERS_EACH = 40
const LOOK_MS = 10
/** Turns off periodic checks, except where they are measured. */
const NEVER_MS = '86400000'
const READERS = 4
const READING_SECONDS = 5
const FAST_BLOCKS = 80
const FAST_BLOCK_MS = 250
const FAST_BLOCK_TRANSFERS = 10

/** Of the inserted wallets, whose ids sort before those of the service. */
const NATIVE_KNOWN = `SELECT count(*) AS n FROM balances WHERE wallet_id LIKE 'wal_00%' AND asset_id LIKE '%/slip44:%'`

type Stage = {
  readonly subject: Subject
  readonly pool: pg.Pool
  readonly url: string
  readonly chainId: number
  /** A funded wallet, created while the sandbox's own follower runs. */
  readonly walletId: string
}

export async function benchFollow(subject: Subject): Promise<Figure[]> {
  const { database_url, networks } = subject.service.state()
  const { rpc_url: url, chain_id: chainId } = networks.ethereum
  const [walletId = ''] = await fundedWallets(subject, 1)
  const pool = new pg.Pool({ connectionString: database_url, max: 1 })
  const stage: Stage = { subject, url, chainId, walletId, pool }
  subject.service.kill('chain-follower', 'SIGSTOP')
  try {
    return await measure(stage)
  } finally {
    subject.service.kill('chain-follower', 'SIGCONT')
    await pool.end()
  }
}

async function measure(stage: Stage): Promise<Figure[]> {
  const figures: Figure[] = []
  let before = 0
  for (const { wallets, blocks } of ROUNDS) {
    if (wallets > before) figures.push(await firstLook(stage, before, wallets))
    before = wallets
    figures.push(await catchUp(stage, wallets, blocks), await catchUpBusy(stage, wallets))
    for (const one of figures.slice(-3))
      process.stderr.write(
        `  ${one.bench}: ${one.ours.toFixed(1)} of ${one.ceiling.toFixed(1)} ${one.unit}, ${one.note}\n`,
      )
  }
  figures.push(await readsMeanwhile(stage), await fastBlocks(stage))
  const { database_url } = stage.subject.service.state()
  return [...figures, ...(await benchObserveBlock(database_url, before + 1))]
}

/** From the first balance of the new wallets to the last. */
async function firstLook({ subject, pool, url, chainId }: Stage, before: number, count: number): Promise<Figure> {
  const added = count - before
  await insertWallets(pool, { count: added, first: before + 1, chainId })
  await pool.query('ANALYZE wallets')
  const known = async () => {
    const { rows } = await pool.query<{ n: string }>(NATIVE_KNOWN)
    return Number(rows[0]?.n)
  }
  const base = await known()
  const follower = await startFollower(subject, {})
  while ((await known()) === base) await sleep(LOOK_MS)
  const startedAt = performance.now()
  const first = await known()
  while ((await known()) < base + added) await sleep(LOOK_MS)
  const ours = perSecond(base + added - first, startedAt)
  await follower.stop()
  await pool.query('ANALYZE')
  const { multicall3 } = (await setUpChain(url, 'ethereum')).contracts
  const addresses = Array.from({ length: added }, (_, n) => walletAddress(before + n + 1))
  return {
    bench: `first look at ${thousands(added)} wallets`,
    unit: 'wallets/s',
    ours,
    ceiling: await readNativesAlone(url, chainId, { multicall3, addresses }),
    ceilingIs: 'reading the same balances, and nothing else',
    note: `by the reconciliation, ${thousands(count)} wallets in the chain then`,
  }
}

async function catchUp(stage: Stage, wallets: number, blocks: number): Promise<Figure> {
  const walked = await missBlocks(stage, () => mineEmpty(stage.url, blocks))
  return {
    bench: `catching up, ${thousands(wallets)} wallets`,
    unit: 'blocks/s',
    ours: walked.perSecond,
    ceiling: await readBlocksAlone(stage.url, stage.chainId, walked),
    ceilingIs: 'reading the same blocks and receipts, and nothing else',
    note: `${thousands(blocks)} empty blocks; wanted: ${WANTED_PER_SECOND}; ${walked.cpu}`,
  }
}

async function catchUpBusy(stage: Stage, wallets: number): Promise<Figure> {
  const walked = await missBlocks(stage, async () => {
    for (let block = 0; block < BUSY_BLOCKS; block += 1) await mineToFirst(stage.url, TRANSFERS_EACH)
  })
  return {
    bench: `catching up with transfers, ${thousands(wallets)} wallets`,
    unit: 'blocks/s',
    ours: walked.perSecond,
    ceiling: await readBlocksAlone(stage.url, stage.chainId, walked),
    ceilingIs: 'the same',
    note: `${BUSY_BLOCKS} blocks of ${TRANSFERS_EACH} transfers${wallets === 0 ? '' : ' to wallets'}; ${walked.cpu}`,
  }
}

type Missed = { readonly from: number; readonly to: number; readonly perSecond: number; readonly cpu: string }

/** Mines blocks without a follower, then processes them. */
async function missBlocks({ subject, pool, url, chainId }: Stage, mine: () => Promise<void>): Promise<Missed> {
  await mine()
  const [missedFrom, to] = [await walkedTo(pool, chainId), Number(await callRpc(url, 'eth_blockNumber'))]
  const follower = await startFollower(subject)
  try {
    while ((await walkedTo(pool, chainId)) === missedFrom) await sleep(LOOK_MS)
    const from = await walkedTo(pool, chainId)
    const [startedAt, cpuBefore] = [performance.now(), process.cpuUsage()]
    while ((await walkedTo(pool, chainId)) < to) await sleep(LOOK_MS)
    const { user, system } = process.cpuUsage(cpuBefore)
    const cpu = `${((user + system) / 1_000 / (to - from)).toFixed(2)} ms of the follower's CPU a block`
    return { from, to, perSecond: perSecond(to - from, startedAt), cpu }
  } finally {
    await follower.stop()
  }
}

/** Started like in the sandbox. */
function startFollower(
  { service }: Subject,
  env: Readonly<Record<string, string>> = { RECONCILE_INTERVAL_MS: NEVER_MS },
) {
  const pid = service.state().processes.find(({ name }) => name === 'chain-follower')?.pid ?? 0
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  const own = Object.fromEntries(variables.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
  return runWorker(
    composeKernel(loadConfig({ ...own, LOG_LEVEL: 'fatal', ...env }), 'chain-follower'),
    startChainFollower,
  )
}

/** Status reads while the follower catches up, compared with the same reads when it is idle. */
async function readsMeanwhile(stage: Stage): Promise<Figure> {
  const { subject, walletId } = stage
  const { service } = subject
  const read = () =>
    runLoad({
      url: `${service.state().base_url}/v1/wallets/${walletId}/balance`,
      method: 'GET',
      headers: authHeaders(subject),
      connections: READERS,
      seconds: READING_SECONDS,
    })
  await read()
  const quiet = await read()
  await mineEmpty(stage.url, READ_BESIDE_BLOCKS)
  const follower = await startFollower(subject)
  const reads = await read()
  await follower.stop()
  return {
    bench: `a balance is read while ${thousands(READ_BESIDE_BLOCKS)} blocks are caught up, p99`,
    unit: 'ms',
    ours: reads.p99Ms,
    ceiling: quiet.p99Ms,
    ceilingIs: 'the same with nothing to walk',
    note: `${READERS} at once; p50 ${reads.p50Ms} ms and ${quiet.p50Ms} ms`,
  }
}

/** The delay from mining to processing a block, with four blocks per second. */
async function fastBlocks({ subject, url, pool, chainId }: Stage): Promise<Figure> {
  const waits: number[] = []
  const minedAt = new Map<number, number>()
  let mining = true
  const watch = async () => {
    while (mining || minedAt.size > 0) {
      const walked = await walkedTo(pool, chainId)
      for (const [number, at] of minedAt)
        if (number <= walked && minedAt.delete(number)) waits.push(performance.now() - at)
      await sleep(LOOK_MS)
    }
  }
  const follower = await startFollower(subject)
  const watching = watch()
  for (let block = 0; block < FAST_BLOCKS; block += 1) {
    const next = performance.now() + FAST_BLOCK_MS
    await mineToFirst(url, FAST_BLOCK_TRANSFERS)
    minedAt.set(Number(await callRpc(url, 'eth_blockNumber')), performance.now())
    await sleep(Math.max(0, next - performance.now()))
  }
  mining = false
  await watching
  await follower.stop()
  waits.sort((a, b) => a - b)
  return {
    bench: 'blocks at 4 a second, from mined to walked',
    unit: 'ms',
    ours: waits[Math.floor(waits.length / 2)] ?? Number.NaN,
    ceiling: FAST_BLOCK_MS,
    ceilingIs: 'the time between two blocks',
    note: `median of ${waits.length} blocks of ${FAST_BLOCK_TRANSFERS} transfers to our wallets, the longest ${Math.round(waits.at(-1) ?? Number.NaN)} ms; the node is asked every 200 ms`,
  }
}

async function mineEmpty(url: string, blocks: number): Promise<void> {
  for (let mined = 0; mined < blocks; mined += MINED_AT_ONCE)
    await callRpc(url, 'anvil_mine', [toQuantity(MINED_AT_ONCE)])
}

/** Always the same wallets: anvil copies every account for each block. */
async function mineToFirst(url: string, count: number): Promise<void> {
  await mineTransfers(
    url,
    Array.from({ length: count }, (_, n) => walletAddress(n + 1)),
  )
}

async function walkedTo(pool: pg.Pool, chainId: number): Promise<number> {
  const { rows } = await pool.query<{ number: string }>('SELECT number FROM chain_cursors WHERE chain_id = $1', [
    chainId,
  ])
  return Number(rows[0]?.number ?? -1)
}

function perSecond(count: number, startedAt: number): number {
  return (1_000 * count) / (performance.now() - startedAt)
}

function thousands(count: number): string {
  return count.toLocaleString('en-US')
}
