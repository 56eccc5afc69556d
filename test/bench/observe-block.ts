/**
 * What one block of 5,000 token transfers costs the follower beside 100,000 watched addresses: without and with the record of
 * transfers. The block is made here and no node is asked, so that only the look-ups, the decisions and the append are
 * measured. On a chain of its own in the database of the sandbox.
 */
import pg from 'pg'
import { observeTransfers } from '../../src/activity/observe-transfers.ts'
import { createBalanceChains } from '../../src/balances/chain.ts'
import { createCurrentPrices } from '../../src/balances/current-prices.ts'
import { createHolderReads } from '../../src/balances/holder-reads.ts'
import { loadBalances } from '../../src/balances/load-balances.ts'
import { observeBalances } from '../../src/balances/observe-block.ts'
import { touchedBy } from '../../src/balances/touched.ts'
import type { Block } from '../../src/chain/blocks.ts'
import { TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import type { Decision } from '../../src/event-log/aggregate.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createBlockReads, readUsedNonces } from '../../src/transactions/block-reads.ts'
import { insertWallets, walletAddress } from '../support/many-rows.ts'
import type { Figure } from './report.ts'

const CHAIN_ID = 4_242_424
const WATCHED = 100_000
const LOGS = 5_000
const ROUNDS = 9
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const SETTINGS = {
  network: 'ethereum',
  environment: 'mainnet',
  chainId: CHAIN_ID,
  multicall3Address: null,
  tokens: [{ symbol: 'USDC', address: TOKEN, decimals: 6 }],
} as const

/** @param first number of the first wallet: the sandbox has those below */
export async function benchObserveBlock(databaseUrl: string, first: number): Promise<Figure[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  const wakeUps = createWakeUps(pool, databaseUrl)
  try {
    await insertWallets(pool, { count: WATCHED, first, chainId: CHAIN_ID })
    await pool.query("UPDATE wallets SET type = 'watch' WHERE chain_id = $1", [CHAIN_ID])
    await pool.query('ANALYZE wallets')
    const log = createEventLog({ pool, wakeUps, clock: Date.now })
    const observing = composeObserving(pool, log)
    const figures: Figure[] = []
    for (const ours of [0, LOGS / 100, LOGS]) figures.push(await measure(observing, log, first, ours))
    return figures
  } finally {
    await wakeUps.close()
    await pool.end()
  }
}

type Log = ReturnType<typeof createEventLog>

function composeObserving(pool: pg.Pool, log: Log) {
  const nobody = { batch: async () => [] }
  const chainOf = createBalanceChains([{ settings: SETTINGS, client: nobody, foreign: nobody } as never])
  const [holders, nonces] = [createHolderReads(pool), createBlockReads(pool)]
  const load = (walletIds: readonly string[]) => loadBalances({ pool, log }, walletIds)
  const balances = { reads: holders, load, chainOf, readForRecord: async () => [] }
  const transfers = { log, pricesOf: createCurrentPrices({ pool, clock: Date.now }) }
  return async (blocks: readonly Block[], records: boolean): Promise<Decision[]> => {
    const touched = holders.touched(chainOf(CHAIN_ID), touchedBy(blocks))
    const [wallets] = await Promise.all([
      touched,
      readUsedNonces(nonces, CHAIN_ID, blocks),
      observeBalances(balances, { chain: SETTINGS, blocks, now: log.now(), touched }),
    ])
    return records ? observeTransfers(transfers, { chain: SETTINGS, blocks, touched: wallets, own: new Map() }) : []
  }
}

async function measure(
  observe: ReturnType<typeof composeObserving>,
  log: Log,
  first: number,
  ours: number,
): Promise<Figure> {
  const times: { without: number; with: number; append: number; cpuWithout: number; cpuWith: number }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const blocks = [blockOf(round, first, ours)]
    const without = await timed(() => observe(blocks, false))
    const recording = await timed(() => observe(blocks, true))
    const append = await timed(() =>
      recording.result.length === 0 ? null : log.append({ decisions: recording.result }),
    )
    times.push({
      without: without.ms,
      with: recording.ms,
      append: append.ms,
      cpuWithout: without.cpuMs,
      cpuWith: recording.cpuMs,
    })
  }
  const median = (of: keyof (typeof times)[number]) =>
    times.map((time) => time[of]).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN
  return {
    bench: `a block of ${LOGS} token transfers, ${ours} to ${WATCHED} watched addresses`,
    unit: 'ms',
    ours: median('with'),
    ceiling: median('without'),
    ceilingIs: 'without recording transfers',
    note: `medians of ${ROUNDS}; CPU of the follower ${median('cpuWith').toFixed(0)} ms, without ${median('cpuWithout').toFixed(0)} ms; then ${median('append').toFixed(0)} ms to append`,
  }
}

async function timed<Result>(task: () => Promise<Result> | Result) {
  const [startedAt, before] = [performance.now(), process.cpuUsage()]
  const result = await task()
  const { user, system } = process.cpuUsage(before)
  return { ms: performance.now() - startedAt, cpuMs: (user + system) / 1_000, result }
}

/** The first logs are to watched addresses, the others between strangers. */
function blockOf(round: number, first: number, ours: number): Block {
  const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}`
  const stranger = (n: number) => `0x2${n.toString(16).padStart(39, '0')}`
  const number = 1_000 * ours + round + 1
  const logs = Array.from({ length: LOGS }, (_, n) => ({
    address: TOKEN.toLowerCase(),
    topics: [
      TRANSFER_TOPIC,
      topic(stranger(2 * n)),
      topic(n < ours ? walletAddress(first + n * Math.floor(WATCHED / LOGS)) : stranger(2 * n + 1)),
    ],
    data: `0x${(n + 1).toString(16).padStart(64, '0')}`,
    logIndex: n,
  }))
  const place = { number, hash: `0x${number.toString(16).padStart(64, '0')}`, parentHash: '0x', timestamp: 1 }
  const transaction = {
    hash: `0x7${number.toString(16).padStart(63, '0')}`,
    from: stranger(0),
    to: TOKEN.toLowerCase(),
    nonce: 0,
    value: 0n,
    input: '0x',
    status: 'success' as const,
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    offer: null,
    logs,
    authorizations: [],
    hasBlobs: false,
  }
  return { ...place, baseFeePerGas: 1n, income: null, transactions: [transaction] }
}
