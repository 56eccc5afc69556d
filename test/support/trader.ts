/**
 * A wallet that swaps and calls a contract, each time with an amount of its own, and the judgement of it by the chain
 * alone: the amounts are read from receipts, and compared with what was requested and what the service reports.
 */
import { Interface } from 'ethers/abi'
import { formatAmount, parseAmount } from '../../src/core/money.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { readChain } from './chain-audit-scan.ts'
import type { Client, Reply } from './client.ts'
import type { LoadWallet } from './load.ts'
import { TOKEN } from './swap-stage.ts'

/** USDC for ETH, ETH for USDC, ETH for an exact amount of USDC, or a call of a contract with ETH. */
export type TradeKind = 'sell' | 'buy' | 'buy exactly' | 'call'

/** The first amount of each kind, base units; the number of the trade is added. The sum is far below any price impact. */
const LEAST: Readonly<Record<TradeKind, bigint>> = {
  sell: 10n ** 8n,
  buy: 10n ** 16n,
  'buy exactly': 10n ** 7n,
  call: 10n ** 15n,
}
/** Blocks are mined far faster than one a second: their times run ahead of the clock. */
const DEADLINE_SECONDS = 3_600
const [ETH, USDC] = [18, 6]

type Trade = { readonly kind: TradeKind; readonly amount: bigint; readonly id: string | null }

export type TradeOptions = {
  readonly slippageBps?: number
  /** Requests a quote, and swaps by it. */
  readonly quoted?: boolean
  readonly api?: Client
}

/** What the chain says: `hashes` has each of the wallet's transactions there that the service reports. */
export type TradeAudit = {
  readonly executed: number
  readonly ended: number
  readonly problems: readonly string[]
  readonly hashes: ReadonlySet<string>
}

export type Trader = {
  readonly wallet: LoadWallet
  /** Requests a trade, until there is an answer. */
  readonly request: (kind: TradeKind, options?: TradeOptions) => Promise<Reply>
  /** @returns the id of the transaction. @throws Error when it is refused */
  readonly trade: (kind: TradeKind, options?: TradeOptions) => Promise<string>
  /** Judges every trade requested so far. Call when nothing is in progress. */
  readonly audit: () => Promise<TradeAudit>
}

export type TraderPlaces = {
  readonly api: Client
  readonly url: string
  readonly contracts: { readonly usdc: string; readonly wrappedNative: string }
}

/** @param wallet has ETH and USDC */
export function createTrader(places: TraderPlaces, wallet: LoadWallet): Trader {
  const trades: Trade[] = []
  let asked = 0
  const path = `/v1/wallets/${wallet.id}`
  async function request(kind: TradeKind, { slippageBps = 100, quoted = false, api = places.api }: TradeOptions = {}) {
    asked += 1
    const amount = LEAST[kind] + BigInt(asked)
    const post = (to: string, body: object, key = `${kind}-${wallet.id}-${amount}`) =>
      api.send(`${path}/${to}`, body, key)
    const swap = async () => {
      const terms = swapBody(kind, amount, slippageBps)
      if (!quoted) return post('swap', terms)
      const quote = await api.insist({ method: 'POST', path: `${path}/swap/quote`, body: terms })
      return quote.status === 200 ? post('swap', { quote_id: quote.body.data.quote_id }) : quote
    }
    const reply = await (kind === 'call' ? post('contract-call', callBody(places, amount)) : swap())
    trades.push({ kind, amount, id: reply.status === 202 ? reply.body.data.transaction_id : null })
    return reply
  }
  return {
    wallet,
    request,
    async trade(kind, options) {
      const { status, body } = await request(kind, options)
      if (status !== 202) throw new Error(`${kind} is refused: ${status} ${JSON.stringify(body)}`)
      return body.data.transaction_id
    },
    audit: () => auditTrades(places, wallet, trades),
  }
}

function swapBody(kind: TradeKind, amount: bigint, slippageBps: number) {
  const terms = { slippage_bps: slippageBps, deadline_seconds: DEADLINE_SECONDS }
  if (kind === 'sell') return { from_asset: 'USDC', to_asset: 'ETH', amount: formatAmount(amount, USDC), ...terms }
  const bought = { from_asset: 'ETH', to_asset: 'USDC', ...terms }
  return kind === 'buy'
    ? { ...bought, amount: formatAmount(amount, ETH) }
    : { ...bought, amount: formatAmount(amount, USDC), amount_type: 'exact_output' }
}

function callBody({ contracts }: TraderPlaces, amount: bigint) {
  const value = formatAmount(amount, ETH)
  return { contract_address: contracts.wrappedNative, function_signature: 'deposit() payable', args: [], value }
}

const LOGS = new Interface([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Deposit(address indexed account, uint256 value)',
  'event Withdrawal(address indexed account, uint256 value)',
])

type Log = { readonly address: string; readonly topics: readonly string[]; readonly data: string }

/** What a successful transaction moved: base units. */
type Moved = {
  readonly hash: string
  readonly value: bigint
  readonly dollarsOut: bigint
  readonly dollarsIn: bigint
  readonly wrapped: bigint
  readonly unwrapped: bigint
}

async function auditTrades(places: TraderPlaces, wallet: LoadWallet, trades: readonly Trade[]): Promise<TradeAudit> {
  const { api, url } = places
  const chain = await readChain(url, [wallet.address])
  const moves = await Promise.all(
    chain.filter(({ succeeded }) => succeeded).map(({ hash, amount }) => readMoved(places, wallet, hash, amount)),
  )
  const read = async (id: string) =>
    (await api.insist({ path: `/v1/wallets/${wallet.id}/transactions/${id}` })).body.data
  const problems: string[] = []
  const hashes = new Set<string>()
  const lastSells = new Map<string, boolean>()
  let executed = 0
  for (const trade of trades) {
    const name = `${trade.kind} of ${trade.amount} (${trade.id ?? 'refused'})`
    const found = moves.filter((moved) => isOf(trade, moved))
    const [only] = found
    executed += found.length
    if (found.length > 1) problems.push(`${name} is on chain ${found.length} times`)
    if (trade.id === null) {
      if (only !== undefined) problems.push(`${name} is on chain as ${only.hash}`)
      continue
    }
    const view = await read(trade.id)
    for (let id = trade.id; id !== null; id = (await read(id)).depends_on) hashes.add((await read(id)).hash)
    if (trade.kind === 'sell') lastSells.set(view.to, only !== undefined)
    if (only === undefined) problems.push(...judgeAbsent(view).map((problem) => `${name} ${problem}`))
    else problems.push(...judgePresent(trade, view, only).map((problem) => `${name} ${problem}`))
  }
  for (const { hash } of chain) if (!hashes.has(hash)) problems.push(`nobody asked ${wallet.address} for ${hash}`)
  for (const [spender, isSpent] of lastSells) {
    const left = isSpent ? await readAllowance(places, wallet, spender) : 0n
    if (left > 0n) problems.push(`${spender} may still take ${left} after an executed swap of an exact input`)
  }
  const accepted = trades.filter(({ id }) => id !== null).length
  return { executed, ended: accepted - executed, problems, hashes }
}

async function readAllowance(
  { url, contracts }: TraderPlaces,
  { address }: LoadWallet,
  spender: string,
): Promise<bigint> {
  const data = TOKEN.encodeFunctionData('allowance', [address, spender])
  return BigInt((await callRpc(url, 'eth_call', [{ to: contracts.usdc, data }, 'latest'])) as string)
}

async function readMoved({ url, contracts }: TraderPlaces, wallet: LoadWallet, hash: string, value: bigint) {
  const { logs } = (await callRpc(url, 'eth_getTransactionReceipt', [hash])) as { logs: Log[] }
  const own = wallet.address.toLowerCase()
  const sum = (contract: string, event: string, field = '') =>
    logs.reduce((total, log) => {
      const parsed = log.address.toLowerCase() === contract.toLowerCase() ? LOGS.parseLog(log) : null
      const counts = parsed?.name === event && (field === '' || String(parsed.args[field]).toLowerCase() === own)
      return counts ? total + BigInt(parsed.args.value) : total
    }, 0n)
  return {
    hash,
    value,
    dollarsOut: sum(contracts.usdc, 'Transfer', 'from'),
    dollarsIn: sum(contracts.usdc, 'Transfer', 'to'),
    wrapped: sum(contracts.wrappedNative, 'Deposit'),
    unwrapped: sum(contracts.wrappedNative, 'Withdrawal'),
  }
}

function isOf({ kind, amount }: Trade, { value, dollarsOut, dollarsIn, wrapped }: Moved): boolean {
  if (kind === 'sell') return dollarsOut === amount
  if (kind === 'buy') return value === amount && dollarsIn > 0n
  if (kind === 'buy exactly') return dollarsIn === amount
  return value === amount && dollarsIn === 0n && wrapped === amount
}

/** A transaction in the form of the API. */
type View = Reply['body']['data']

function judgeAbsent({ status, failure, swap }: View): string[] {
  const hasEnded = status === 'cancelled' || (status === 'failed' && failure !== null)
  const isEmpty = swap === null || (swap.executed_from_amount === null && swap.executed_to_amount === null)
  return [
    ...(hasEnded ? [] : [`is ${status} and not on chain`]),
    ...(isEmpty ? [] : [`is not on chain and reports that it exchanged ${swap.executed_from_amount}`]),
  ]
}

function judgePresent({ kind, amount }: Trade, view: View, moved: Moved): string[] {
  const problems: string[] = []
  const must = (holds: boolean, problem: string) => void (holds || problems.push(problem))
  must(view.status === 'confirmed', `is on chain and said to be ${view.status}`)
  must(view.hash === moved.hash, `is on chain as ${moved.hash} and said to be ${view.hash}`)
  if (kind === 'call') return problems
  const [paid, received] = kind === 'sell' ? [moved.dollarsOut, moved.unwrapped] : [moved.wrapped, moved.dollarsIn]
  const [from, to] = kind === 'sell' ? [USDC, ETH] : [ETH, USDC]
  const { min_to_amount: least, max_from_amount: most, ...swap } = view.swap
  must(swap.executed_from_amount === formatAmount(paid, from), `paid ${paid}, reported ${swap.executed_from_amount}`)
  must(swap.executed_to_amount === formatAmount(received, to), `gave ${received}, reported ${swap.executed_to_amount}`)
  if (kind === 'buy exactly') must(paid <= parseAmount(most, from), `paid ${paid}, more than ${most}`)
  else must(paid === amount && received >= parseAmount(least, to), `gave ${received}, less than ${least}`)
  return problems
}
