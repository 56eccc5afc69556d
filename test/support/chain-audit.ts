/**
 * Judges the service by the chain alone: every transaction of its wallets is read from the blocks and matched with the
 * requests, by amount. The service's own data is then compared with that.
 */
import pg from 'pg'
import type { Network } from '../../src/core/networks.ts'
import { type ChainTransaction, readBalances, readChain } from './chain-audit-scan.ts'
import type { Answered, LoadTransfer, LoadWallet } from './load.ts'
import type { ChainPlaces } from './load-settle.ts'

export type Audit = {
  readonly accepted: number
  /** Accepted, and once on chain. */
  readonly once: number
  /** Accepted, ended as failed or cancelled with a reason, and nothing was paid. */
  readonly ended: number
  readonly doubled: number
  readonly lost: number
  /** All problems, as text; empty when there are none. */
  readonly problems: readonly string[]
}

/** The columns of a read model row that are compared with the chain. */
type Row = {
  readonly transaction_id: string
  readonly wallet_id: string
  readonly state: string
  readonly status: string
  readonly hash: string | null
  readonly hashes: readonly string[]
  readonly nonce: string | null
  readonly failure: { readonly code: string } | null
  readonly reference_id: string | null
}

export type AuditSubject = {
  readonly places: ChainPlaces
  readonly wallets: readonly LoadWallet[]
  /** Every request from these wallets, with its response. */
  readonly answers: readonly Answered[]
  /** Hashes of transactions that are judged elsewhere. */
  readonly others?: ReadonlySet<string>
}

/** Call when nothing is in progress. */
export async function auditChain({ places, wallets, answers, others }: AuditSubject): Promise<Audit> {
  const problems: string[] = []
  const client = new pg.Client({ connectionString: places.database_url })
  await client.connect()
  try {
    const rows = await readRows(client, wallets)
    const chains = await readChains(places, wallets)
    const found = matchAmounts(answers, chains)
    const counts = judgeTransfers(answers, rows, found, problems)
    judgeStrangers(wallets, rows, chains, [...matchedHashes(found), ...(others ?? [])], problems)
    judgeNonces(wallets, rows, chains, problems)
    await judgeBalances(client, places, wallets, problems)
    await judgeHolds(client, wallets, problems)
    return { ...counts, problems }
  } finally {
    await client.end()
  }
}

async function readRows(client: pg.Client, wallets: readonly LoadWallet[]): Promise<Map<string, Row>> {
  const { rows } = await client.query<Row>(
    'SELECT transaction_id, wallet_id, state, status, hash, hashes, nonce, failure, reference_id FROM transactions WHERE wallet_id = ANY($1)',
    [wallets.map(({ id }) => id)],
  )
  return new Map(rows.map((row) => [row.transaction_id, row]))
}

type Chains = ReadonlyMap<Network, readonly ChainTransaction[]>

async function readChains({ networks }: ChainPlaces, wallets: readonly LoadWallet[]): Promise<Chains> {
  const used = [...new Set(wallets.map(({ network }) => network))]
  const chains = used.map(async (network) => {
    const addresses = wallets.filter((wallet) => wallet.network === network).map(({ address }) => address)
    return [network, await readChain(networks[network]?.rpc_url ?? '', addresses)] as const
  })
  return new Map(await Promise.all(chains))
}

/** Finds each transfer on chain. */
function matchAmounts(answers: readonly Answered[], chains: Chains): Map<LoadTransfer, ChainTransaction[]> {
  const byAmount = new Map<string, ChainTransaction[]>()
  for (const [network, transactions] of chains) {
    for (const transaction of transactions) {
      const key = amountKey(network, transaction.token === null ? 'native' : 'USDC', transaction.amount)
      byAmount.set(key, [...(byAmount.get(key) ?? []), transaction])
    }
  }
  return new Map(
    answers.map(({ transfer }) => [
      transfer,
      byAmount.get(amountKey(transfer.wallet.network, transfer.asset, transfer.amount)) ?? [],
    ]),
  )
}

function amountKey(network: Network, asset: string, amount: bigint): string {
  return `${network} ${asset} ${amount}`
}

function judgeTransfers(
  answers: readonly Answered[],
  rows: ReadonlyMap<string, Row>,
  found: ReadonlyMap<LoadTransfer, readonly ChainTransaction[]>,
  problems: string[],
): Omit<Audit, 'problems'> {
  const counts = { accepted: 0, once: 0, ended: 0, doubled: 0, lost: 0 }
  // For a request without a response only the service knows whether it was accepted.
  const unanswered = new Map([...rows.values()].map((row) => [row.reference_id ?? '', row]))
  for (const { transfer, transactionId, status, code } of answers) {
    const onChain = found.get(transfer) ?? []
    const name = `${transfer.key} (${transactionId ?? `refused: ${status} ${code}`})`
    if (onChain.length > 1) {
      counts.doubled += 1
      problems.push(`${name} is on chain ${onChain.length} times: ${onChain.map(({ hash }) => hash).join(', ')}`)
    }
    const row = transactionId === null ? unanswered.get(transfer.key) : rows.get(transactionId)
    if (transactionId === null && row === undefined) {
      if (onChain.length > 0) problems.push(`${name} is on chain`)
      continue
    }
    counts.accepted += 1
    const [only] = onChain
    if (row === undefined) problems.push(`${name} was accepted and is not in the read model`)
    else if (only === undefined) judgeAbsent(name, row, counts, problems)
    else if (onChain.length === 1) judgePresent(name, transfer, row, only, counts, problems)
  }
  return counts
}

function judgeAbsent(name: string, row: Row, counts: { ended: number; lost: number }, problems: string[]): void {
  if (row.status === 'cancelled' || (row.status === 'failed' && row.failure !== null)) {
    counts.ended += 1
    return
  }
  counts.lost += 1
  problems.push(`${name} is ${row.state} and not on chain: nonce ${row.nonce}, hashes ${row.hashes.join(', ')}`)
}

function judgePresent(
  name: string,
  transfer: LoadTransfer,
  row: Row,
  only: ChainTransaction,
  counts: { once: number; ended: number },
  problems: string[],
): void {
  // A token transfer may fail on chain: it was signed while the tokens were there, and a reorg removed them.
  if (only.succeeded) counts.once += 1
  else counts.ended += 1
  const isTold = only.succeeded ? row.state === 'confirmed' : row.state === 'reverted' && row.failure !== null
  if (!isTold)
    problems.push(`${name} ${only.succeeded ? 'is on chain' : 'failed on chain'} and said to be ${row.state}`)
  if (row.hash !== only.hash) problems.push(`${name} is on chain as ${only.hash} and said to be ${row.hash}`)
  if (!row.hashes.includes(only.hash))
    problems.push(`${name} is on chain under a hash that is not its own: ${only.hash}`)
  if (Number(row.nonce) !== only.nonce)
    problems.push(`${name} has nonce ${only.nonce} on chain and ${row.nonce} in the read model`)
  if (only.from !== transfer.wallet.address.toLowerCase()) problems.push(`${name} was sent from ${only.from}`)
  if (only.to !== transfer.to.toLowerCase()) problems.push(`${name} was sent to ${only.to}`)
}

function matchedHashes(found: ReadonlyMap<LoadTransfer, readonly ChainTransaction[]>): readonly string[] {
  return [...found.values()].flat().map(({ hash }) => hash)
}

/** Everything on chain must be a requested transfer, or the cancellation of one. */
function judgeStrangers(
  wallets: readonly LoadWallet[],
  rows: ReadonlyMap<string, Row>,
  chains: Chains,
  known: readonly string[],
  problems: string[],
): void {
  const asked = new Set(known)
  const cancelled = new Set([...rows.values()].filter(({ status }) => status === 'cancelled').map(({ hash }) => hash))
  const ours = new Set(wallets.map(({ address }) => address.toLowerCase()))
  for (const transactions of chains.values()) {
    for (const { hash, from, to, amount, token } of transactions) {
      if (asked.has(hash)) continue
      const isCancellation = token === null && amount === 0n && to === from && cancelled.has(hash)
      if (ours.has(from) && !isCancellation) problems.push(`nobody asked for ${hash} of ${from}: ${amount} to ${to}`)
    }
  }
}

function judgeNonces(
  wallets: readonly LoadWallet[],
  rows: ReadonlyMap<string, Row>,
  chains: Chains,
  problems: string[],
): void {
  for (const { id, address, network } of wallets) {
    const mined = (chains.get(network) ?? []).filter(({ from }) => from === address.toLowerCase())
    const nonces = mined.map(({ nonce }) => nonce).sort((a, b) => a - b)
    if (nonces.some((nonce, index) => nonce !== index))
      problems.push(`the nonces of ${address} on chain have a gap or a double: ${nonces.join(' ')}`)
    const given = [...rows.values()]
      .filter((row) => row.wallet_id === id && row.nonce !== null)
      .map(({ nonce }) => Number(nonce))
    if (new Set(given).size !== given.length) problems.push(`a nonce of ${address} was given twice`)
  }
}

async function judgeBalances(
  client: pg.Client,
  { networks }: ChainPlaces,
  wallets: readonly LoadWallet[],
  problems: string[],
): Promise<void> {
  const { rows } = await client.query<{ wallet_id: string; asset_id: string; balance: string }>(
    'SELECT wallet_id, asset_id, balance FROM balances WHERE wallet_id = ANY($1)',
    [wallets.map(({ id }) => id)],
  )
  for (const [network, { rpc_url }] of Object.entries(networks)) {
    const here = new Map(wallets.filter((wallet) => wallet.network === network).map(({ id, address }) => [id, address]))
    const recorded = rows.filter(({ wallet_id }) => here.has(wallet_id))
    const held = await readBalances(
      rpc_url,
      recorded.map(({ wallet_id, asset_id }) => ({ address: here.get(wallet_id) ?? '', token: tokenOf(asset_id) })),
    )
    recorded.forEach(({ wallet_id, asset_id, balance }, index) => {
      if (held[index] !== BigInt(balance))
        problems.push(`${here.get(wallet_id)} holds ${held[index]} of ${asset_id}, the read model says ${balance}`)
    })
    if (here.size > 0 && recorded.length < here.size) problems.push(`balances of wallets on ${network} are missing`)
  }
}

/** CAIP-19 has the contract of a token after `erc20:`. */
function tokenOf(assetId: string): string | null {
  return /erc20:(0x[0-9a-fA-F]{40})$/.exec(assetId)?.[1] ?? null
}

async function judgeHolds(client: pg.Client, wallets: readonly LoadWallet[], problems: string[]): Promise<void> {
  const { rows } = await client.query<{ wallet_id: string; asset_id: string; held: string }>(
    'SELECT wallet_id, asset_id, held FROM wallet_holds WHERE held <> 0 AND wallet_id = ANY($1)',
    [wallets.map(({ id }) => id)],
  )
  for (const { wallet_id, asset_id, held } of rows)
    problems.push(`${wallet_id} still holds back ${held} of ${asset_id}`)
}
