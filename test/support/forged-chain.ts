/**
 * The chain as an attacker would forge it: blocks that differ from the real ones, whose hashes, roots and parents fit, as of
 * a forger who computes them. Only nobody else has such a chain.
 */
import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { headerHash } from '../../src/chain/block-proof.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import type { Ask } from './lying-proxies.ts'

export type Fields = Readonly<Record<string, unknown>>
export type RawBlock = Fields & {
  readonly number: string
  readonly hash: string
  readonly parentHash: string
  readonly transactions: readonly Fields[]
}

/** A transaction with its receipt and its bytes. */
export type Mined = { readonly transaction: Fields; readonly receipt: Fields; readonly bytes: string }
export type ForgedBlock = { readonly block: RawBlock; readonly receipts: readonly Fields[] }

export type ForgedChain = {
  /** From the block after this one on, blocks are forged. */
  readonly begin: (ask: Ask) => Promise<void>
  readonly head: (ask: Ask) => Promise<number>
  /** `null` above the head. */
  readonly blockAt: (ask: Ask, number: number) => Promise<ForgedBlock | null>
  readonly blockBy: (hash: string) => ForgedBlock | undefined
}

export type Forgery = {
  /** How many blocks below the head are forged when the lie begins. */
  readonly depth: number
  /** Empty blocks above the head of when the lie begins; the chain then no longer grows. */
  readonly above?: number
  /** What the block has instead. */
  readonly edit?: (mined: readonly Mined[], block: RawBlock, ask: Ask) => Promise<readonly Mined[]>
}

const ALL_BLOOM = `0x${'ff'.repeat(256)}`
const NO_BLOOM = `0x${'00'.repeat(256)}`
const EXTRA_DATA = '0x6c696172'

export function createForgedChain({ depth, above = 0, edit }: Forgery): ForgedChain {
  let base = 0
  let top = 0
  const byHonest = new Map<string, ForgedBlock>()
  const invented = new Map<number, ForgedBlock>()
  const byHash = new Map<string, ForgedBlock>()
  const keep = (forged: ForgedBlock): ForgedBlock => {
    byHash.set(forged.block.hash, forged)
    return forged
  }
  const honestAt = async (ask: Ask, number: number) =>
    (await ask('eth_getBlockByNumber', toQuantity(number), true)) as RawBlock | null

  async function onHonest(ask: Ask, number: number): Promise<ForgedBlock | null> {
    const wanted: RawBlock[] = []
    for (let at = number; at > base; at--) {
      const block = await honestAt(ask, at)
      if (block === null) return null
      wanted.push(block)
      if (byHonest.has(block.hash)) break
    }
    const forged: ForgedBlock[] = []
    for (const block of wanted.reverse()) {
      const parentHash = forged.at(-1)?.block.hash ?? block.parentHash
      forged.push(keep(byHonest.get(block.hash) ?? (await forge(ask, block, parentHash))))
      byHonest.set(block.hash, forged.at(-1) as ForgedBlock)
    }
    const last = forged.at(-1)
    if (last !== undefined) return last
    const block = await honestAt(ask, number)
    return block && { block, receipts: (await ask('eth_getBlockReceipts', toQuantity(number))) as Fields[] }
  }

  async function forge(ask: Ask, honest: RawBlock, parentHash: string): Promise<ForgedBlock> {
    const receipts = (await ask('eth_getBlockReceipts', honest.number)) as Fields[]
    if (edit === undefined) return sealed({ ...honest, parentHash, extraData: EXTRA_DATA }, null, receipts)
    const mined = await Promise.all(
      honest.transactions.map(async (transaction, i) => ({
        transaction,
        receipt: receipts[i] ?? {},
        bytes: (await ask('eth_getRawTransactionByHash', transaction.hash)) as string,
      })),
    )
    const edited = await edit(mined, honest, ask)
    const isSame = edited === mined
    return sealed({ ...honest, parentHash, extraData: EXTRA_DATA }, isSame ? null : edited, receipts)
  }

  async function onTop(ask: Ask, number: number): Promise<ForgedBlock | null> {
    if (number > top + above) return null
    for (let at = top + 1; at <= number; at++) {
      if (invented.has(at)) continue
      const parent = at === top + 1 ? await onHonest(ask, top) : (invented.get(at - 1) ?? null)
      if (parent === null) return null
      const fields = { number: toQuantity(at), parentHash: parent.block.hash }
      const timestamp = toQuantity(Number(parent.block.timestamp) + 1)
      invented.set(at, keep(await sealed({ ...parent.block, ...fields, timestamp, transactions: [] }, [], [])))
    }
    return invented.get(number) ?? null
  }

  return {
    async begin(ask) {
      top = Number(await ask('eth_blockNumber'))
      base = Math.max(-1, top - depth)
      byHonest.clear()
      invented.clear()
    },
    head: async (ask) => (above > 0 ? top + above : Number(await ask('eth_blockNumber'))),
    blockAt: (ask, number) => (above > 0 && number > top ? onTop(ask, number) : onHonest(ask, number)),
    blockBy: (hash) => byHash.get(hash),
  }
}

/** @param mined `null`: as the header says already */
async function sealed(
  header: RawBlock,
  mined: readonly Mined[] | null,
  honest: readonly Fields[],
): Promise<ForgedBlock> {
  const roots =
    mined === null
      ? {}
      : {
          transactionsRoot: await rootOf(mined.map(({ bytes }) => Buffer.from(bytes.slice(2), 'hex'))),
          receiptsRoot: await rootOf(mined.map(({ receipt }) => receiptBytes(receipt))),
          logsBloom: mined.length === 0 ? NO_BLOOM : ALL_BLOOM,
          gasUsed: mined.at(-1)?.receipt.cumulativeGasUsed ?? '0x0',
        }
  const block = { ...header, ...roots }
  const hash = headerHash(block)
  const place = { blockHash: hash, blockNumber: header.number }
  const transactions = mined?.map(({ transaction }) => transaction) ?? header.transactions
  const receipts = mined?.map(({ receipt }) => receipt) ?? honest
  return {
    block: {
      ...block,
      hash,
      transactions: transactions.map((raw, i) => ({ ...raw, ...place, transactionIndex: toQuantity(i) })),
    },
    receipts: receipts.map((raw, i) => ({
      ...raw,
      ...place,
      transactionIndex: toQuantity(i),
      logs: ((raw.logs ?? []) as Fields[]).map((log) => ({ ...log, ...place, transactionIndex: toQuantity(i) })),
    })),
  }
}

async function rootOf(items: readonly Uint8Array[]): Promise<string> {
  const trie = await createMPT({ useKeyHashing: false })
  for (const [index, item] of items.entries()) await trie.put(RLP.encode(index), item)
  return `0x${Buffer.from(trie.root()).toString('hex')}`
}

function receiptBytes(receipt: Fields): Uint8Array {
  const hex = (value: unknown) => Buffer.from(String(value).slice(2), 'hex')
  const logs = (receipt.logs as Fields[]).map(({ address, topics, data }) => [
    hex(address),
    (topics as string[]).map(hex),
    hex(data),
  ])
  const body = RLP.encode([
    BigInt(String(receipt.status)),
    BigInt(String(receipt.cumulativeGasUsed)),
    hex(receipt.logsBloom),
    logs,
  ])
  const type = Number(receipt.type ?? 0)
  return type === 0 ? body : Uint8Array.from([type, ...body])
}
