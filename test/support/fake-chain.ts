/** An in-memory chain that answers like a node: it grows, forgets blocks and switches branches as the test requires. */
import { toQuantity } from '../../src/chain/hex.ts'
import type { RpcReader, RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'

type FakeTransaction = { readonly hash: string; readonly nonce: number }
type FakeBlock = {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly transactions: FakeTransaction[]
}

export type FakeChain = {
  readonly client: RpcReader
  /** What the chain says to a request. */
  readonly value: (request: RpcRequest) => unknown
  /** Adds blocks, each with `transactions` of its own. */
  readonly grow: (blocks: number, transactions?: number) => void
  /** Removes blocks from the top; the next ones form another branch. */
  readonly cut: (blocks: number) => void
  readonly head: () => number
  readonly hash: (number: number) => string
  readonly hashes: () => string[]
  readonly genesis: () => void
  /** Called before each request is answered, with the number of requests so far. */
  onRequest: (request: RpcRequest, count: number) => void
  /** Overrides the chain's result when it returns one. */
  answer: (request: RpcRequest) => RpcResult | undefined
  readonly requests: RpcRequest[]
}

const FROM = `0x${'11'.repeat(20)}`
const TO = `0x${'22'.repeat(20)}`

export function createFakeChain(): FakeChain {
  let made = 0
  const blocks: FakeBlock[] = []
  const nextHash = (): string => `0x${(++made).toString(16).padStart(64, '0')}`
  const push = (transactions: number): void => {
    const list = Array.from({ length: transactions }, (_, nonce) => ({ hash: nextHash(), nonce }))
    const parentHash = blocks.at(-1)?.hash ?? `0x${'0'.repeat(64)}`
    blocks.push({ number: blocks.length, hash: nextHash(), parentHash, transactions: list })
  }
  const blockOf = (param: unknown) => (param === 'latest' ? blocks.at(-1) : blocks[Number(param)])
  const value = ({ method, params }: RpcRequest): unknown => {
    if (method === 'eth_getBlockByNumber') return asBlock(blockOf(params[0]), params[1] === true)
    if (method === 'eth_getBlockReceipts')
      return blockOf(params[0])?.transactions.map(asReceipt(blockOf(params[0]))) ?? null
    if (method === 'eth_getBlockTransactionCountByNumber') {
      const counted = blockOf(params[0])
      return counted === undefined ? null : toQuantity(counted.transactions.length)
    }
    const block = blocks.find((candidate) => candidate.transactions.some(({ hash }) => hash === params[0]))
    const transaction = block?.transactions.find(({ hash }) => hash === params[0])
    return transaction ? asReceipt(block)(transaction) : null
  }
  const chain: FakeChain = {
    value,
    client: {
      batch: async (requests) =>
        requests.map((request) => {
          chain.onRequest(request, chain.requests.push(request))
          return chain.answer(request) ?? { ok: true, value: chain.value(request) }
        }),
    },
    grow: (count, transactions = 1) => {
      for (let i = 0; i < count; i++) push(transactions)
    },
    cut: (count) => {
      blocks.splice(Math.max(1, blocks.length - count))
    },
    head: () => blocks.length - 1,
    hash: (number) => blocks[number]?.hash ?? '',
    hashes: () => blocks.map(({ hash }) => hash),
    genesis: () => {
      blocks.length = 0
      push(0)
    },
    onRequest: () => undefined,
    answer: () => undefined,
    requests: [],
  }
  push(0)
  return chain
}

function asBlock(block: FakeBlock | undefined, full: boolean): unknown {
  if (block === undefined) return null
  const { number, hash, parentHash } = block
  const transactions = block.transactions.map((transaction) =>
    full
      ? {
          hash: transaction.hash,
          from: FROM,
          to: TO,
          nonce: toQuantity(transaction.nonce),
          value: '0x1',
          gasPrice: '0x7',
        }
      : transaction.hash,
  )
  return {
    number: toQuantity(number),
    hash,
    parentHash,
    timestamp: toQuantity(1000 + number),
    baseFeePerGas: '0x7',
    transactions,
  }
}

function asReceipt(block: FakeBlock | undefined) {
  return ({ hash }: FakeTransaction) => ({
    transactionHash: hash,
    blockHash: block?.hash,
    status: '0x1',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x7',
    logs: [{ address: TO, topics: [hash], data: '0x', logIndex: '0x0' }],
  })
}
