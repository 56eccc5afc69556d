/** Lies that fit together: an attacker who shows another chain, whose every answer is of that chain. */
import { Transaction } from 'ethers/transaction'
import { Wallet } from 'ethers/wallet'
import { toQuantity } from '../../src/chain/hex.ts'
import {
  createForgedChain,
  type Fields,
  type ForgedBlock,
  type ForgedChain,
  type Forgery,
  type Mined,
} from './forged-chain.ts'
import { forgedLog, type Targets, THOUSAND_ETHER } from './lies-of-methods.ts'
import type { Ask, Call, Lie, Said } from './lying-proxies.ts'

/** A stranger to the chain, with funds that only the forged one knows. */
const FORGER = new Wallet(`0x${'5e'.repeat(32)}`)
const NO_BLOOM = `0x${'00'.repeat(256)}`
const ALL_BLOOM = `0x${'ff'.repeat(256)}`
const PLAIN_GAS = 21_000

/** What of an account or of a transaction the lie says besides its blocks. */
type Besides = Readonly<Partial<Record<string, (honest: unknown, call: Call) => unknown>>>

function showing(name: string, methods: readonly string[], forgery: Forgery, besides: Besides = {}): Lie {
  const chain = createForgedChain(forgery)
  return {
    name: `several/${name}`,
    methods: [...CHAIN_METHODS, ...Object.keys(besides), ...methods],
    begin: chain.begin,
    async tell(call, honest, ask) {
      const shown = await fromChain(chain, call, ask)
      if (shown !== undefined) return { result: shown }
      const { said, call: asked } = await asOfHonest(chain, call, honest, ask)
      const alter = besides[call.method]
      if (alter === undefined || 'error' in said) return said
      return { result: alter(said.result, asked) }
    },
  }
}

const CHAIN_METHODS = [
  'eth_blockNumber',
  'eth_getBlockByNumber',
  'eth_getBlockByHash',
  'eth_getBlockReceipts',
  'eth_getBlockTransactionCountByNumber',
  'eth_getTransactionReceipt',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getBalance',
  'eth_getCode',
  'eth_call',
  'eth_feeHistory',
]

/** @returns `undefined` for a call that asks for no block */
async function fromChain(chain: ForgedChain, { method, params }: Call, ask: Ask): Promise<unknown> {
  const [first] = params
  if (method === 'eth_blockNumber') return toQuantity(await chain.head(ask))
  if (method === 'eth_getBlockByNumber')
    return asBlock(await chain.blockAt(ask, await heightOf(chain, first, ask)), params[1])
  if (method === 'eth_getBlockByHash') return asBlock(chain.blockBy(String(first)), params[1]) ?? undefined
  if (method === 'eth_getBlockReceipts') return (await blockOf(chain, first, ask))?.receipts ?? null
  if (method === 'eth_getBlockTransactionCountByNumber') {
    const found = await blockOf(chain, first, ask)
    return found ? toQuantity(found.block.transactions.length) : null
  }
  return undefined
}

async function blockOf(chain: ForgedChain, place: unknown, ask: Ask): Promise<ForgedBlock | null> {
  const hash = typeof place === 'object' ? (place as Fields | null)?.blockHash : place
  if (typeof hash === 'string' && hash.length === 66) return chain.blockBy(hash) ?? null
  return chain.blockAt(ask, await heightOf(chain, place, ask))
}

async function heightOf(chain: ForgedChain, tag: unknown, ask: Ask): Promise<number> {
  if (String(tag).startsWith('0x')) return Number(tag)
  const head = await chain.head(ask)
  return tag === 'latest' || tag === 'pending' ? head : Math.max(0, head - 2)
}

function asBlock(found: ForgedBlock | null | undefined, isFull: unknown): unknown {
  if (found == null) return null
  const { block } = found
  return isFull === true ? block : { ...block, transactions: block.transactions.map(({ hash }) => hash) }
}

/** An answer of the honest node as of the block that has the height of the forged one. */
async function asOfHonest(
  chain: ForgedChain,
  call: Call,
  honest: Said,
  ask: Ask,
): Promise<{ readonly said: Said; readonly call: Call }> {
  const params = call.params.map((param) => {
    const hash = (param as Fields | null)?.blockHash
    const forged = typeof hash === 'string' ? chain.blockBy(hash) : undefined
    return forged?.block.number ?? param
  })
  const known = Number(await ask('eth_blockNumber'))
  const clamped = params.map((param) =>
    typeof param === 'string' && /^0x[0-9a-f]{1,8}$/.test(param) && Number(param) > known ? 'latest' : param,
  )
  if (JSON.stringify(clamped) === JSON.stringify(call.params)) return { said: honest, call }
  try {
    return { said: { result: await ask(call.method, ...clamped) }, call: { ...call, params: clamped } }
  } catch {
    return { said: honest, call }
  }
}

/** Signed by the forger, and said to be from anybody. */
async function forgedTransaction(
  { to, value, nonce, from }: { to: string; value: bigint; nonce: number; from: string },
  chainId: number,
): Promise<Mined> {
  const fee = 10n ** 10n
  const fees = { maxFeePerGas: fee, maxPriorityFeePerGas: fee, gasLimit: PLAIN_GAS }
  const bytes = await FORGER.signTransaction({ type: 2, chainId, to, value, nonce, ...fees })
  const { hash, signature } = Transaction.from(bytes)
  const common = { type: '0x2', from, to: to.toLowerCase() }
  const yParity = toQuantity(signature?.yParity ?? 0)
  const prices = { gasPrice: `0x${fee.toString(16)}`, maxFeePerGas: `0x${fee.toString(16)}` }
  return {
    bytes,
    transaction: {
      ...common,
      ...prices,
      ...{ maxPriorityFeePerGas: prices.maxFeePerGas, hash, input: '0x', accessList: [], yParity, v: yParity },
      ...{ chainId: toQuantity(chainId), nonce: toQuantity(nonce), value: `0x${value.toString(16)}` },
      ...{ gas: toQuantity(PLAIN_GAS), r: signature?.r, s: signature?.s },
    },
    receipt: {
      ...common,
      ...{ transactionHash: hash, status: '0x1', gasUsed: toQuantity(PLAIN_GAS), contractAddress: null, logs: [] },
      ...{ logsBloom: NO_BLOOM, effectiveGasPrice: prices.gasPrice },
    },
  }
}

/** With the cumulative gas and the indexes of logs that follow from the order. */
function counted(mined: readonly Mined[]): readonly Mined[] {
  let gas = 0n
  let logs = 0
  return mined.map(({ receipt, ...rest }) => {
    gas += BigInt(String(receipt.gasUsed))
    const own = (receipt.logs as Fields[]).map((log) => ({ ...log, logIndex: toQuantity(logs++) }))
    return { ...rest, receipt: { ...receipt, cumulativeGasUsed: `0x${gas.toString(16)}`, logs: own } }
  })
}

const raised = (by: bigint) => (honest: unknown) => `0x${(BigInt(String(honest)) + by).toString(16)}`

/** @param chainId of the node */
export function liesOfChains(targets: Targets, chainId: number): readonly Lie[] {
  const { ours } = targets
  const [payee = ''] = ours
  const isOurs = (address: unknown) => ours.includes(String(address).toLowerCase())
  const deposits: Forgery = {
    depth: 1,
    async edit(mined, { number }) {
      const paid = { to: payee, value: THOUSAND_ETHER, nonce: Number(number), from: FORGER.address.toLowerCase() }
      const { receipt, ...rest } = await forgedTransaction(paid, chainId)
      const log = forgedLog(targets, { transactionHash: receipt.transactionHash })
      return counted([...mined, { ...rest, receipt: { ...receipt, logs: [log], logsBloom: ALL_BLOOM } }])
    },
  }
  const taken: Forgery = {
    depth: 1,
    async edit(mined, { number }, ask) {
      const others = mined.filter(({ transaction }) => !isOurs(transaction.from))
      const before = toQuantity(Number(number) - 1)
      const forged = ours.map(async (from) => {
        const nonce = Number(await ask('eth_getTransactionCount', from, before))
        return forgedTransaction({ to: FORGER.address, value: 1n, nonce, from }, chainId)
      })
      return counted([...others, ...(await Promise.all(forged))])
    },
  }
  const unmined: Besides = {
    eth_getTransactionReceipt: (honest) => (isOurs((honest as Fields | null)?.from) ? null : honest),
    eth_getTransactionByHash: (honest) => (isOurs((honest as Fields | null)?.from) ? null : honest),
  }
  return [
    showing('forged deposits', [], deposits, { eth_getBalance: raised(THOUSAND_ETHER) }),
    showing('nonces used by others', [], taken, {
      ...unmined,
      eth_getTransactionCount: (honest, { params }) => (isOurs(params[0]) ? raised(1n)(honest) : honest),
    }),
    showing(
      'our payments are in no block',
      [],
      {
        depth: 3,
        edit: async (mined) => counted(mined.filter(({ transaction }) => !isOurs(transaction.from))),
      },
      unmined,
    ),
    showing(
      'our payments failed',
      [],
      {
        depth: 3,
        edit: async (mined) =>
          counted(
            mined.map((one) =>
              isOurs(one.transaction.from)
                ? { ...one, receipt: { ...one.receipt, status: '0x0', logs: [], logsBloom: NO_BLOOM } }
                : one,
            ),
          ),
      },
      {
        eth_getTransactionReceipt: (honest) =>
          isOurs((honest as Fields | null)?.from) ? { ...(honest as Fields), status: '0x0', logs: [] } : honest,
      },
    ),
    showing('a thousand blocks more', [], { depth: 1, above: 1_000 }),
    showing('another fork', [], { depth: 8 }),
    showing('another chain from block 0 on', [], { depth: Number.POSITIVE_INFINITY }),
    rewound,
    silent,
  ]
}

/** As after a loss of everything but block 0. */
const rewound: Lie = {
  name: 'several/rewound to block 0',
  methods: CHAIN_METHODS,
  async tell({ method, params }, honest, ask) {
    if (method === 'eth_blockNumber') return { result: '0x0' }
    if (/^eth_getBlock/.test(method) && params[0] !== '0x0' && String(params[0]).startsWith('0x'))
      return { result: null }
    if (method === 'eth_getBlockByNumber') return { result: await ask(method, '0x0', params[1]) }
    if (/^eth_getTransaction(Receipt|ByHash)$/.test(method)) return { result: null }
    if (method === 'eth_getTransactionCount') return { result: '0x0' }
    return honest
  },
}

const silent: Lie = {
  name: 'several/silent about blocks',
  methods: CHAIN_METHODS,
  tell: () => new Promise(() => undefined),
}
