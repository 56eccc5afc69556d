/**
 * Compares what the service told with the blocks that the honest chain had: nothing is told that is not there, and nothing is
 * taken back that did not leave it.
 */
import type { Pool } from 'pg'
import type { Client } from './client.ts'
import type { Fields } from './forged-chain.ts'
import type { HonestBlock, HonestBlocks } from './honest-blocks.ts'
import type { LoadWallet } from './load.ts'

/** What a lie did, by kind. Empty: nothing. */
export type Harms = {
  readonly told: string[]
  readonly revoked: string[]
  readonly nonces: string[]
}

export type ToldSubject = {
  readonly pool: Pool
  readonly honest: HonestBlocks
  readonly wallets: readonly LoadWallet[]
}

type Logged = { readonly stream_id: string; readonly type: string; readonly data: Fields }

/** Of what happened here nothing ends like that. */
const NEVER = new Set(['TransactionFailed', 'TransactionCancelled', 'TransactionReverted'])
const TAKEN_BACK = new Set(['TransactionReorged', 'SettlementRevoked', 'TransferOrphaned'])
const NONCES = new Set(['NonceConsumedExternally', 'NonceFillRequested'])

/** @returns where the log ends */
export async function endOfLog(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ position: string }>('SELECT coalesce(max(position), 0) AS position FROM events')
  return rows[0]?.position ?? '0'
}

/** @param after where the log ended when the lies began */
export async function auditTold({ pool, honest, wallets }: ToldSubject, after: string): Promise<Harms> {
  const harms: Harms = { told: [], revoked: [], nonces: [] }
  const { rows } = await pool.query<Logged>(
    'SELECT stream_id, type, data FROM events WHERE position > $1 ORDER BY position',
    [after],
  )
  const addresses = new Map(wallets.map(({ id, address }) => [id, address.toLowerCase()]))
  for (const event of rows) {
    if (NEVER.has(event.type)) harms.told.push(`${name(event)}: ${JSON.stringify(event.data.message ?? event.data)}`)
    else if (NONCES.has(event.type)) harms.nonces.push(`${name(event)} ${JSON.stringify(event.data)}`)
    else if (event.type === 'ReorgDetected') judgeReorg(event, honest, harms)
    else if (TAKEN_BACK.has(event.type)) judgeTakenBack(event, honest, harms)
    else await judgeTold(event, honest, addresses, harms)
  }
  return harms
}

function name({ stream_id, type }: Logged): string {
  return `${type} of ${stream_id}`
}

function judgeReorg(event: Logged, honest: HonestBlocks, { revoked }: Harms): void {
  const { from, ancestor } = event.data as { from: { hash: string }; ancestor: { hash: string } }
  if (!honest.wasRemoved(from.hash)) revoked.push(`a reorg of ${JSON.stringify(event.data)}`)
  else if (!honest.ever.has(ancestor.hash)) revoked.push(`a reorg to ${JSON.stringify(ancestor)}`)
}

function judgeTakenBack(event: Logged, honest: HonestBlocks, { revoked }: Harms): void {
  if (!honest.wasRemoved(String(event.data.blockHash))) revoked.push(`${name(event)}: block ${event.data.blockNumber}`)
}

async function judgeTold(
  event: Logged,
  honest: HonestBlocks,
  addresses: ReadonlyMap<string, string>,
  { told }: Harms,
): Promise<void> {
  const { type, data } = event
  if (type === 'TransactionConfirmed' || type === 'TransferConfirmed') {
    const seen = Number(data.blockNumber) + Number(data.confirmations) - 1
    if (seen > honest.highest()) told.push(`${name(event)}: ${data.confirmations} confirmations`)
  }
  if (type === 'FollowerAdvanced') {
    const { block } = data as { block: { hash: string } }
    if (!honest.ever.has(block.hash)) told.push(`${name(event)}: ${JSON.stringify(block)}`)
    return
  }
  if (typeof data.blockHash !== 'string') return
  const found = honest.ever.get(data.blockHash)
  if (found === undefined) return void told.push(`${name(event)}: no block ${data.blockNumber} ${data.blockHash}`)
  if (found.block.number !== `0x${Number(data.blockNumber).toString(16)}`) told.push(`${name(event)}: its number`)
  if (type === 'TransactionMined') judgeMined(event, found, told)
  else if (type === 'TransferObserved') judgeTransfer(event, found, told)
  else if (type === 'BalanceChanged' || type === 'BalanceReorged') await judgeBalance(event, honest, addresses, told)
}

function judgeMined(event: Logged, { receipts }: HonestBlock, told: string[]): void {
  const { hash, succeeded, gasUsed, effectiveGasPrice } = event.data
  const receipt = receipts.get(String(hash))
  if (receipt === undefined) return void told.push(`${name(event)}: ${hash} is not in that block`)
  const isRight =
    (receipt.status === '0x1') === succeeded &&
    BigInt(String(receipt.gasUsed)) === BigInt(String(gasUsed)) &&
    BigInt(String(receipt.effectiveGasPrice)) === BigInt(String(effectiveGasPrice))
  if (!isRight) told.push(`${name(event)}: another outcome than the receipt of ${hash}`)
}

function judgeTransfer(event: Logged, { transactions, receipts }: HonestBlock, told: string[]): void {
  const { hash, logIndex, amount } = event.data
  const logs = (receipts.get(String(hash))?.logs ?? []) as Fields[]
  const moved =
    logIndex === null
      ? transactions.get(String(hash))?.value
      : logs.find((log) => Number(log.logIndex) === logIndex)?.data
  const isThere = moved !== undefined && BigInt(String(moved)) === BigInt(String(amount))
  if (!isThere) told.push(`${name(event)}: ${amount} of ${hash} did not move`)
}

async function judgeBalance(
  event: Logged,
  honest: HonestBlocks,
  addresses: ReadonlyMap<string, string>,
  told: string[],
): Promise<void> {
  const { blockHash, blockNumber, balance, asset } = event.data
  const address = addresses.get(event.stream_id.replace(/^balance-/, ''))
  if (address === undefined) return
  const { contract } = asset as { contract: string | null }
  const heldAt = (hash: string) => honest.balance(hash, address, contract)
  const held = await heldAt(String(blockHash))
  if (held === undefined || held === BigInt(String(balance))) return
  // anvil answers for its newest block with the state of the block that it makes: docs/nodes.md.
  const next = await Promise.all(honest.followersOf(String(blockHash)).map(heldAt))
  if (!next.includes(BigInt(String(balance))))
    told.push(`${name(event)}: ${balance} at block ${blockNumber}, where it was ${held}`)
}

/** The public events since `after`: what names a block names one that the honest chain had. */
export async function auditFeed(
  api: Client,
  honest: HonestBlocks,
  after: string | null,
): Promise<{ readonly last: string | null; readonly problems: string[] }> {
  const problems: string[] = []
  for (let last = after; ; ) {
    const from = last === null ? '' : `&after=${encodeURIComponent(last)}`
    const { body } = await api.insist({ path: `/v1/events?limit=100${from}` })
    for (const { id, type, data } of body.data.events as { id: string; type: string; data: Fields }[]) {
      const hash = data?.block_hash
      if (typeof hash === 'string' && !honest.ever.has(hash)) problems.push(`${type} ${id}: no block ${hash}`)
      if (data?.block_number != null && Number(data.block_number) > honest.highest())
        problems.push(`${type} ${id}: no block ${data.block_number}`)
    }
    last = body.data.next_after ?? last
    if (!body.data.has_more) return { last, problems }
  }
}
