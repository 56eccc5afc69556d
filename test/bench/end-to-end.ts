/**
 * From POST to confirmed, compared with the same number of pre-signed transactions submitted directly to the same node.
 */
import { Wallet } from 'ethers/wallet'
import pg from 'pg'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { untilQuiet } from './accept.ts'
import { runLoad } from './load.ts'
import type { Figure } from './report.ts'
import { authHeaders, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

const TRANSFERS = 5_000
const RAW_BATCH = 100
const CONNECTIONS = 64
const CONFIRMATIONS = 2
/** The second account of every anvil: its key is public. */
const RAW_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'

export async function benchEndToEnd(subject: Subject): Promise<Figure[]> {
  const figures: Figure[] = []
  const raw = await pushRaw(subject)
  for (const wallets of [1, 20]) {
    const ours = await sendThroughBursar(subject, wallets)
    figures.push({
      bench: `end to end, ${TRANSFERS} from ${wallets} ${wallets === 1 ? 'wallet' : 'wallets'}`,
      unit: '/s',
      ours,
      ceiling: raw,
      ceilingIs: 'pre-signed bytes pushed to the same node',
      note: 'POST until confirmed (2 blocks, 1 s each)',
    })
  }
  return figures
}

async function sendThroughBursar(subject: Subject, walletCount: number): Promise<number> {
  const wallets = await fundedWallets(subject, walletCount)
  await untilQuiet(subject)
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
  const { rows: before } = await pool.query<{ n: string }>(CONFIRMED)
  const startedAt = performance.now()
  await runLoad({
    url: subject.service.state().base_url,
    method: 'POST',
    headers: { ...authHeaders(subject), prefer: 'respond-async' },
    body: JSON.stringify({ to: RECIPIENT, amount: '0.0000001', asset: 'ETH' }),
    paths: wallets.map((wallet) => `/v1/wallets/${wallet}/transfer`),
    connections: CONNECTIONS,
    amount: TRANSFERS,
  })
  for (;;) {
    const { rows } = await pool.query<{ n: string }>(CONFIRMED)
    if (Number(rows[0]?.n) - Number(before[0]?.n) >= TRANSFERS) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const seconds = (performance.now() - startedAt) / 1_000
  await pool.end()
  return TRANSFERS / seconds
}

const CONFIRMED = `SELECT count(*) AS n FROM transactions WHERE state = 'confirmed'`

/** Signed in advance; timed from the first submission until the last has two confirmations. */
async function pushRaw(subject: Subject): Promise<number> {
  const { rpc_url: url, chain_id: chainId } = subject.service.state().networks.ethereum
  const wallet = new Wallet(RAW_KEY)
  const first = Number(await callRpc(url, 'eth_getTransactionCount', [wallet.address, 'latest']))
  const signed: string[] = []
  for (let n = 0; n < TRANSFERS; n += 1) {
    signed.push(
      await wallet.signTransaction({
        type: 2,
        chainId,
        nonce: first + n,
        to: RECIPIENT,
        value: 1n,
        gasLimit: 21_000n,
        maxFeePerGas: 10n ** 11n,
        maxPriorityFeePerGas: 10n ** 9n,
      }),
    )
  }
  const startedAt = performance.now()
  for (let n = 0; n < TRANSFERS; n += RAW_BATCH) {
    const requests = signed
      .slice(n, n + RAW_BATCH)
      .map((raw, id) => ({ jsonrpc: '2.0', id, method: 'eth_sendRawTransaction', params: [raw] }))
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(requests),
    })
    const answers = (await response.json()) as { error?: { message: string } }[]
    const refused = answers.find(({ error }) => error !== undefined)
    if (refused) throw new Error(`the node refused a raw transaction: ${refused.error?.message}`)
  }
  const count = async (tag: string) => Number(await callRpc(url, 'eth_getTransactionCount', [wallet.address, tag]))
  while ((await count('latest')) < first + TRANSFERS) await new Promise((resolve) => setTimeout(resolve, 50))
  const minedAt = Number(await callRpc(url, 'eth_blockNumber'))
  while (Number(await callRpc(url, 'eth_blockNumber')) < minedAt + CONFIRMATIONS - 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
  return TRANSFERS / ((performance.now() - startedAt) / 1_000)
}
