/**
 * Every block that the honest chain ever had, also those that a reorg removed, and the balances as of them: what may be told
 * about them is judged by these alone.
 */
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import type { Fields, RawBlock } from './forged-chain.ts'

export type HonestBlock = {
  readonly block: RawBlock
  readonly transactions: ReadonlyMap<string, Fields>
  readonly receipts: ReadonlyMap<string, Fields>
}

export type HonestBlocks = {
  /** Reads what is new. Call before and after each reorg. */
  readonly record: () => Promise<void>
  readonly ever: ReadonlyMap<string, HonestBlock>
  /** Whether the block left the chain at some time. */
  readonly wasRemoved: (hash: string) => boolean
  readonly isOnChain: (hash: string) => boolean
  readonly highest: () => number
  /** The hashes of the blocks that ever followed this one. */
  readonly followersOf: (hash: string) => readonly string[]
  /** `null` for the native currency. Undefined where nobody asked the node while it had the block. */
  readonly balance: (hash: string, address: string, token: string | null) => Promise<bigint | undefined>
}

export type Held = { readonly address: string; readonly token: string | null }

/** Deeper than any reorg of a test. */
const REMEMBERED = 6
/** `balanceOf(address)` */
const BALANCE_OF = '0x70a08231'

/** @param holdings whose balances are remembered of blocks that a reorg may remove */
export function createHonestBlocks(url: string, holdings: readonly Held[]): HonestBlocks {
  const ever = new Map<string, HonestBlock>()
  const chain: string[] = []
  const removed = new Set<string>()
  const balances = new Map<string, bigint>()
  let highest = 0
  const ask = (method: string, ...params: unknown[]) => callRpc(url, method, params)

  async function add(number: number): Promise<HonestBlock> {
    const block = (await ask('eth_getBlockByNumber', toQuantity(number), true)) as RawBlock
    const known = ever.get(block.hash)
    if (known !== undefined) return known
    const receipts = (await ask('eth_getBlockReceipts', toQuantity(number))) as Fields[]
    const added = {
      block,
      transactions: new Map(block.transactions.map((raw) => [String(raw.hash), raw])),
      receipts: new Map(receipts.map((raw) => [String(raw.transactionHash), raw])),
    }
    ever.set(block.hash, added)
    return added
  }

  async function readBalance(number: string, { address, token }: Held): Promise<bigint> {
    const data = `${BALANCE_OF}${address.slice(2).toLowerCase().padStart(64, '0')}`
    const read = token === null ? ask('eth_getBalance', address, number) : ask('eth_call', { to: token, data }, number)
    const said = String(await read)
    return said === '0x' ? 0n : BigInt(said)
  }

  const keyOf = (hash: string, address: string, token: string | null) =>
    `${hash} ${address} ${token ?? ''}`.toLowerCase()

  async function record(): Promise<void> {
    const head = Number(await ask('eth_blockNumber'))
    highest = Math.max(highest, head)
    for (let number = head; number >= 0; number--) {
      const { block } = await add(number)
      if (chain[number] === block.hash) break
      const before = chain[number]
      if (before !== undefined) removed.add(before)
      chain[number] = block.hash
    }
    for (const gone of chain.splice(head + 1)) removed.add(gone)
    for (const hash of chain.slice(-REMEMBERED)) {
      const { block } = ever.get(hash) as HonestBlock
      for (const held of holdings) {
        const key = keyOf(hash, held.address, held.token)
        if (!balances.has(key)) balances.set(key, await readBalance(block.number, held))
      }
    }
  }

  return {
    record,
    ever,
    wasRemoved: (hash) => removed.has(hash),
    isOnChain: (hash) => chain.includes(hash),
    highest: () => highest,
    followersOf: (hash) => [...ever.values()].flatMap(({ block }) => (block.parentHash === hash ? [block.hash] : [])),
    async balance(hash, address, token) {
      const known = balances.get(keyOf(hash, address, token))
      const found = ever.get(hash)
      if (known !== undefined || found === undefined || !chain.includes(hash)) return known
      // A node forgets old states.
      return readBalance(found.block.number, { address, token }).catch(() => undefined)
    },
  }
}
