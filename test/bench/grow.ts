/**
 * What the size of the log costs: CPU of the follower for a block, of an append and of each GET, at a hundredth, a tenth
 * and the whole of a million events and 100,000 wallets, half of them watched.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { untilQuiet, withWorkersHeld } from './accept.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { type Account, fillLog, makeModels } from './fill-log.ts'
import { runLoad } from './load.ts'
import { mineTransfers } from './mine-transfers.ts'
import { runOperator } from './operator.ts'
import type { Figure } from './report.ts'
import { authHeaders, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

const SHARES = [0.01, 0.1, 1] as const
const BLOCKS = 100
const TRANSFERS_EACH = 40
/** Wallets that get transfers; with ten thousand events there are a thousand. */
const RECIPIENTS = 1_000
const APPENDS = 1_000
const READS = 400
const CONNECTIONS = 16
const LOOK_MS = 20
const TRANSFER = { to: RECIPIENT, amount: '0.0000001', asset: 'ETH' }

/** Measured work, in ms of CPU for each. */
type Cost = readonly [name: string, ms: number]

/** @param events the size of the log at the end */
export async function benchGrowth(subject: Subject, events: number): Promise<Figure[]> {
  const models = await makeModels(subject)
  const accounts: Account[] = []
  const figures: Figure[] = []
  let first: readonly Cost[] = []
  for (const share of SHARES) {
    const size = Math.round(events * share)
    process.stderr.write(`  ${thousands(size)} events …\n`)
    accounts.push(...(await fillLog(subject, models, size, accounts.length)))
    if (first.length === 0) await measure(subject, accounts) // Compiles what the next one measures.
    const costs = await measure(subject, accounts)
    if (first.length === 0) first = costs
    for (const [name, ms] of costs) {
      process.stderr.write(`  ${name}: ${ms.toFixed(2)} ms CPU\n`)
      figures.push({
        bench: `${name}, ${thousands(size)} events`,
        unit: 'ms CPU',
        ours: ms,
        ceiling: first.find(([other]) => other === name)?.[1] ?? 0,
        ceilingIs: `with ${thousands(Math.round(events * SHARES[0]))} events`,
        note: `${thousands(accounts.length)} wallets`,
      })
    }
  }
  return [...figures, ...(await verifyLog(subject))]
}

async function measure(subject: Subject, accounts: readonly Account[]): Promise<Cost[]> {
  const [sender = ''] = await fundedWallets(subject, 1)
  await untilQuiet(subject)
  return [
    ['block', await blockCost(subject, accounts)],
    ['append', await appendCost(subject, sender)],
    ...(await readCosts(subject, accounts)),
  ]
}

/** Blocks of transfers to the same number of wallets all over the log, mined while the follower is held. */
async function blockCost(subject: Subject, accounts: readonly Account[]): Promise<number> {
  const { rpc_url: url, chain_id: chainId } = subject.service.state().networks.ethereum
  subject.service.kill('chain-follower', 'SIGSTOP')
  const recipients = spread(accounts, RECIPIENTS).map(({ address }) => address)
  for (let block = 0; block < BLOCKS; block += 1)
    await mineTransfers(
      url,
      Array.from({ length: TRANSFERS_EACH }, (_, n) => at(recipients, block * TRANSFERS_EACH + n)),
    )
  const head = Number(await callRpc(url, 'eth_blockNumber'))
  const cost = await cpuOf(subject, ['chain-follower', 'postgres'], BLOCKS, async () => {
    subject.service.kill('chain-follower', 'SIGCONT')
    const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
    const walked = async () => Number((await pool.query<{ n: string }>(WALKED, [chainId])).rows[0]?.n)
    while ((await walked()) < head) await sleep(LOOK_MS)
    await pool.end()
  })
  await untilQuiet(subject)
  return cost
}

const WALKED = 'SELECT number AS n FROM chain_cursors WHERE chain_id = $1'

async function appendCost(subject: Subject, sender: string): Promise<number> {
  const cost = await withWorkersHeld(subject, () =>
    cpuOf(subject, ['api', 'postgres'], APPENDS, () =>
      runLoad({
        url: `${subject.service.state().base_url}/v1/wallets/${sender}/transfer`,
        method: 'POST',
        headers: { ...authHeaders(subject), prefer: 'respond-async' },
        body: JSON.stringify(TRANSFER),
        connections: CONNECTIONS,
        amount: APPENDS,
      }),
    ),
  )
  await untilQuiet(subject)
  return cost
}

async function readCosts(subject: Subject, accounts: readonly Account[]): Promise<Cost[]> {
  const wallets = spread(
    accounts.filter((_, n) => n % 2 === 0),
    READS,
  ).map(({ walletId }) => walletId)
  const sent = await settledTransactions(subject, wallets)
  const reads: Readonly<Record<string, readonly string[]>> = {
    'GET wallet': wallets.map((id) => `/v1/wallets/${id}`),
    'GET balance': wallets.map((id) => `/v1/wallets/${id}/balance`),
    'GET transaction': sent.map(
      ({ wallet_id, transaction_id }) => `/v1/wallets/${wallet_id}/transactions/${transaction_id}`,
    ),
    'GET transactions of a wallet': wallets.map((id) => `/v1/wallets/${id}/transactions`),
    'GET wallets': ['/v1/wallets?limit=20'],
    'GET wallet by address': spread(accounts, READS).map(({ address }) => `/v1/wallets?address=${address}`),
  }
  const costs: Cost[] = []
  for (const [name, paths] of Object.entries(reads)) {
    const load = {
      url: subject.service.state().base_url,
      method: 'GET' as const,
      headers: authHeaders(subject),
      paths,
      connections: CONNECTIONS,
      amount: READS,
    }
    await runLoad(load)
    costs.push([name, await cpuOf(subject, ['api', 'postgres'], READS, () => runLoad(load))])
  }
  return costs
}

type Settled = { readonly wallet_id: string; readonly transaction_id: string }

async function settledTransactions(subject: Subject, walletIds: readonly string[]): Promise<readonly Settled[]> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
  const { rows } = await pool.query<Settled>(
    'SELECT DISTINCT ON (wallet_id) wallet_id, transaction_id FROM transactions WHERE wallet_id = ANY ($1) ORDER BY wallet_id',
    [walletIds],
  )
  await pool.end()
  return rows
}

/** The log is a real one: its chains and its tree verify, and replay gives the live read models. */
async function verifyLog({ service }: Subject): Promise<Figure[]> {
  const settings = { DATA_DIR: `${service.directory}/data` }
  await runOperator(['audit', 'checkpoint'], settings)
  const runs = [
    ['audit verify', ['audit', 'verify']],
    ['replay --diff', ['replay', '--diff']],
  ] as const
  const figures: Figure[] = []
  for (const [bench, args] of runs) {
    const { seconds, peakMb } = await runOperator(args, settings)
    figures.push({ bench, unit: 's', ours: seconds, ceiling: 0, ceilingIs: '', note: `${Math.round(peakMb)} MB` })
  }
  return figures
}

/** CPU of these processes for each of `count`, in ms. */
async function cpuOf(
  { service }: Subject,
  names: readonly string[],
  count: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const before = readCpuTimes(service)
  await work()
  const used = cpuBetween(before, readCpuTimes(service))
  return names.reduce((sum, name) => sum + (used.get(name) ?? 0), 0) / count
}

/** Up to `count` of these, from all over the list. */
function spread<T>(list: readonly T[], count: number): readonly T[] {
  const step = Math.max(1, Math.floor(list.length / count))
  return Array.from({ length: Math.min(count, list.length) }, (_, n) => at(list, n * step))
}

/** From the start again after the last one. */
function at<T>(list: readonly T[], index: number): T {
  const one = list[index % list.length]
  if (one === undefined) throw new Error('the list is empty')
  return one
}

function thousands(count: number): string {
  return count.toLocaleString('en-US')
}
