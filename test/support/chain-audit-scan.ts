/** Reads a whole chain from its node, block by block, for the transactions of some addresses. */
import { toQuantity } from '../../src/chain/hex.ts'

export type ChainTransaction = {
  readonly hash: string
  /** Lower case, as `to`. */
  readonly from: string
  /** The recipient: for a token transfer, the argument of the call. */
  readonly to: string
  readonly nonce: number
  /** Base units of the native currency, or of the token. */
  readonly amount: bigint
  /** The token's contract, or null. */
  readonly token: string | null
  readonly succeeded: boolean
  readonly blockNumber: number
}

const BLOCKS_AT_ONCE = 100
/** `transfer(address,uint256)` of ERC-20. */
const TRANSFER = '0xa9059cbb'
/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = '0x70a08231'

type Call = { readonly method: string; readonly params: readonly unknown[] }
type RawTransaction = Readonly<Record<'hash' | 'from' | 'nonce' | 'value' | 'input', string>> & {
  readonly to: string | null
}
type RawBlock = { readonly number: string; readonly transactions: readonly RawTransaction[] }
type RawReceipt = { readonly transactionHash: string; readonly status: string }

/** @throws Error when the node does not answer everything */
export async function readChain(url: string, addresses: readonly string[]): Promise<ChainTransaction[]> {
  const ours = new Set(addresses.map((address) => address.toLowerCase()))
  const [headHex] = await batch(url, [{ method: 'eth_blockNumber', params: [] }])
  const head = Number(headHex)
  const transactions: ChainTransaction[] = []
  for (let from = 0; from <= head; from += BLOCKS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(BLOCKS_AT_ONCE, head - from + 1) }, (_, index) =>
      toQuantity(from + index),
    )
    const blocks = (await batch(
      url,
      numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [number, true] })),
    )) as RawBlock[]
    const busy = blocks.filter((block) =>
      block.transactions.some((transaction) => ours.has(transaction.from.toLowerCase())),
    )
    const receipts = (await batch(
      url,
      busy.map(({ number }) => ({ method: 'eth_getBlockReceipts', params: [number] })),
    )) as RawReceipt[][]
    const succeeded = new Set(
      receipts
        .flat()
        .filter(({ status }) => status === '0x1')
        .map(({ transactionHash }) => transactionHash),
    )
    for (const block of busy) {
      const mine = block.transactions.filter((transaction) => ours.has(transaction.from.toLowerCase()))
      transactions.push(...mine.map((raw) => read(raw, Number(block.number), succeeded.has(raw.hash))))
    }
  }
  return transactions
}

/** Current balances of addresses in a token or (`null`) the native currency. */
export async function readBalances(
  url: string,
  holdings: readonly { readonly address: string; readonly token: string | null }[],
): Promise<bigint[]> {
  const calls = holdings.map(({ address, token }) =>
    token === null
      ? { method: 'eth_getBalance', params: [address, 'latest'] }
      : {
          method: 'eth_call',
          params: [{ to: token, data: `${BALANCE_OF}${address.slice(2).padStart(64, '0')}` }, 'latest'],
        },
  )
  return (await batch(url, calls)).map((answer) => BigInt(answer as string))
}

function read(raw: RawTransaction, blockNumber: number, succeeded: boolean): ChainTransaction {
  const common = { hash: raw.hash, from: raw.from.toLowerCase(), nonce: Number(raw.nonce), succeeded, blockNumber }
  const to = (raw.to ?? '').toLowerCase()
  if (!raw.input.startsWith(TRANSFER)) return { ...common, to, amount: BigInt(raw.value), token: null }
  return { ...common, to: `0x${raw.input.slice(34, 74)}`, amount: BigInt(`0x${raw.input.slice(74, 138)}`), token: to }
}

async function batch(url: string, calls: readonly Call[]): Promise<unknown[]> {
  if (calls.length === 0) return []
  const body = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answers = (await response.json()) as { id: number; result?: unknown; error?: { message: string } }[]
  const results = new Map(answers.map((answer) => [answer.id, answer]))
  return calls.map(({ method }, id) => {
    const answer = results.get(id)
    if (answer === undefined || answer.error !== undefined || answer.result === null) {
      throw new Error(`${method} was not answered: ${answer?.error?.message ?? 'nothing'}`)
    }
    return answer.result
  })
}
