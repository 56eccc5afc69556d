/**
 * Mints end to end, compared with the same calls, pre-signed and submitted directly to the same contract code on the
 * same node.
 */

import { sha256 } from 'ethers/crypto'
import { toUtf8Bytes } from 'ethers/utils'
import { Wallet } from 'ethers/wallet'
import pg from 'pg'
import {
  type CollectionConfig,
  collectionSalt,
  deployCollection,
  predictCollectionAddress,
} from '../../src/nft/contracts/collection.ts'
import { encodeMint, encodeMintBatch } from '../../src/nft/contracts/encode-calls.ts'
import { deployGas, mintGas } from '../../src/nft/contracts/gas.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { OSAKA } from '../support/gas.ts'
import { untilQuiet } from './accept.ts'
import { runLoad } from './load.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, RECIPIENT, type Subject } from './subject.ts'

const SINGLE_MINTS = 1_000
const BATCHES = 30
const BATCH = 100
const CONNECTIONS = { single: 32, batch: 4 } as const
/** The third account of every anvil: its key is public. */
const RAW_KEY = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'
const METADATA = { name: 'Bench', image: 'https://example.com/token.png' }
const DIGEST = sha256(toUtf8Bytes(JSON.stringify(METADATA)))

/** Tokens per second from the first request to the last block. */
export async function benchNft(subject: Subject): Promise<Figure[]> {
  const raw = await pushRawMints(subject)
  const { collection_id: collectionId } = await call<{ collection_id: string }>(
    subject,
    'POST',
    '/v1/nft/collections/create',
    { name: 'Bench', symbol: 'BENCH' },
  )
  const single = await mintThroughBursar(subject, {
    requests: SINGLE_MINTS,
    connections: CONNECTIONS.single,
    body: { collection_id: collectionId, recipient: RECIPIENT, metadata: METADATA },
  })
  const batched = await mintThroughBursar(subject, {
    requests: BATCHES,
    connections: CONNECTIONS.batch,
    body: {
      collection_id: collectionId,
      minting_type: 'BATCH',
      items: Array.from({ length: BATCH }, () => ({ recipient: RECIPIENT, metadata: METADATA })),
    },
  })
  const figure = (bench: string, ours: number, ceiling: number): Figure => ({
    bench,
    unit: 'tokens/s',
    ours,
    ceiling,
    ceilingIs: 'pre-signed calls pushed to the same node',
    note: 'POST until mined, blocks of 1 s',
  })
  return [
    figure(`mint, ${SINGLE_MINTS} one by one`, SINGLE_MINTS / single, SINGLE_MINTS / raw.single),
    figure(`mint, ${BATCHES} batches of ${BATCH}`, (BATCHES * BATCH) / batched, (BATCHES * BATCH) / raw.batched),
  ]
}

/** Seconds until every mint is in a block. */
async function mintThroughBursar(
  subject: Subject,
  load: { readonly requests: number; readonly connections: number; readonly body: unknown },
): Promise<number> {
  await untilQuiet(subject)
  const { base_url: baseUrl, database_url: connectionString } = subject.service.state()
  const pool = new pg.Pool({ connectionString, max: 1 })
  const open = async () => {
    const { rows } = await pool.query<{ n: string }>(
      `SELECT count(*) AS n FROM transactions WHERE type = 'NFT_MINT' AND state NOT IN ('mined', 'confirmed')`,
    )
    return Number(rows[0]?.n)
  }
  const startedAt = performance.now()
  await runLoad({
    url: `${baseUrl}/v1/nft/mint`,
    method: 'POST',
    headers: { ...authHeaders(subject), prefer: 'respond-async' },
    body: JSON.stringify(load.body),
    connections: load.connections,
    amount: load.requests,
  })
  while ((await open()) > 0) await new Promise((resolve) => setTimeout(resolve, 50))
  await pool.end()
  return (performance.now() - startedAt) / 1_000
}

async function pushRawMints({ service }: Subject): Promise<{ readonly single: number; readonly batched: number }> {
  const { rpc_url: url, chain_id: chainId } = service.state().networks.ethereum
  const wallet = new Wallet(RAW_KEY)
  const config: CollectionConfig = {
    standard: 'ERC721',
    kind: 'STANDARD',
    name: 'Raw',
    symbol: 'RAW',
    baseUri: '',
    contractDigest: null,
    owner: wallet.address,
    royaltyRecipient: null,
    royaltyBps: 0,
    maxSupply: null,
    transferable: true,
  }
  const salt = collectionSalt(`raw ${Date.now()}`)
  const to = predictCollectionAddress(config, salt, wallet.address)
  let nonce = Number(await callRpc(url, 'eth_getTransactionCount', [wallet.address, 'latest']))
  const sign = async (request: { readonly to: string; readonly data: string }, gasLimit: bigint): Promise<string> => {
    const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
    const signed = await wallet.signTransaction({ type: 2, chainId, nonce, ...request, gasLimit, ...fees })
    nonce += 1
    return signed
  }
  const push = async (signed: readonly string[]): Promise<number> => {
    const startedAt = performance.now()
    for (const raw of signed) await callRpc(url, 'eth_sendRawTransaction', [raw])
    while (Number(await callRpc(url, 'eth_getTransactionCount', [wallet.address, 'latest'])) < nonce)
      await new Promise((resolve) => setTimeout(resolve, 50))
    return (performance.now() - startedAt) / 1_000
  }
  await push([await sign(deployCollection(config, salt), deployGas(OSAKA, config))])
  const token = { recipient: RECIPIENT, amount: 1n, digest: DIGEST }
  const singles: string[] = []
  for (let id = 1; id <= SINGLE_MINTS; id += 1)
    singles.push(
      await sign({ to, data: encodeMint('ERC721', BigInt(id), token) }, mintGas(OSAKA, 'ERC721', 'STANDARD', 1)),
    )
  const single = await push(singles)
  const batches: string[] = []
  for (let n = 0; n < BATCHES; n += 1) {
    const first = BigInt(SINGLE_MINTS + 1 + n * BATCH)
    const tokens = Array.from({ length: BATCH }, () => token)
    const data = encodeMintBatch('ERC721', first, tokens)
    batches.push(await sign({ to, data }, mintGas(OSAKA, 'ERC721', 'STANDARD', BATCH)))
  }
  return { single, batched: await push(batches) }
}
