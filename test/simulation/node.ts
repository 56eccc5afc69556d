/**
 * A node in front of the in-memory chain: it answers JSON-RPC and, while faults are on, it lags, goes silent and
 * returns false answers.
 */
import { readCount, toQuantity } from '../../src/chain/hex.ts'
import { type RpcReader, type RpcRequest, type RpcResult, unavailable } from '../../src/chain/json-rpc.ts'
import { classifySubmission, type Submission } from '../../src/chain/rpc-errors.ts'
import type { Random } from '../support/load-random.ts'
import { type ChainBlock, GAS_USED, isStranger, REVERTING, type SimulatedChain, type Wire } from './chain.ts'
import type { PortsOf } from './ports.ts'
import type { Actor, Scheduler } from './scheduler.ts'
import { CHAIN_ID, type World } from './terms.ts'

export type Node = RpcReader & {
  readonly sendRawTransactions: (raw: readonly string[]) => Promise<readonly Submission[]>
}

type NodeSettings = {
  readonly actor: Actor
  readonly scheduler: Scheduler
  readonly chain: SimulatedChain
  readonly random: Random
  readonly faults: () => boolean
  /** The number of hashes that the follower keeps, and its first block: it never saw lower ones. */
  readonly keptHashes: number
  readonly firstWalked: () => number
  /** Called with all submitted bytes, before the node handles them. */
  readonly onSent: (wire: Wire) => void
  readonly isLate: (wire: Wire) => boolean
  readonly onAnswer: (request: RpcRequest, value: unknown) => void
}

const MAX_LAG_BLOCKS = 5

/** Answers that a node gives without checking. */
const LIES = [
  'nonce too low',
  'already known',
  'replacement transaction underpriced',
  'insufficient funds for gas * price + value',
  'txpool is full',
  'nonce too high',
  'too many requests',
  'transaction underpriced',
  'something that nobody ever said before',
  'invalid sender',
]

function createNode(settings: NodeSettings): Node {
  const { actor, scheduler, chain, random, faults, keptHashes, firstWalked } = settings
  const ask = <T>(label: string, effect: () => T) =>
    scheduler.call({ actor, label, weight: 1, fallible: false }, effect)

  function answerAll(requests: readonly RpcRequest[]): RpcResult[] {
    if (faults() && random.chance(0.03)) return requests.map(() => silence('timeout'))
    const view = viewOf(settings)
    const keepsStates = chain.deepestReorg() >= keptHashes || isTakenBelow(chain.blocks(), firstWalked())
    return requests.map((request) => {
      if (faults() && random.chance(0.005)) return silence('overloaded')
      const result = answer(chain, view, request, keepsStates)
      if (result.ok) settings.onAnswer(request, result.value)
      return result
    })
  }

  function send(raw: string): RpcResult {
    const wire = chain.wireOf(raw)
    if (settings.isLate(wire)) return silence('timeout')
    settings.onSent(wire)
    if (faults() && random.chance(0.15)) {
      const taken = random.chance(0.5)
      if (taken) chain.take(wire)
      const lie = random.chance(0.4) ? null : random.pick(LIES)
      scheduler.note(`  node: ${taken ? 'takes' : 'drops'} ${wire.hash.slice(-6)}, says ${lie ?? 'nothing'}`)
      return lie === null ? silence('timeout') : { ok: false, error: { kind: 'answer', code: -32000, message: lie } }
    }
    const said = chain.take(wire)
    return said === 'ok'
      ? { ok: true, value: wire.hash }
      : { ok: false, error: { kind: 'answer', code: -32000, message: said } }
  }

  return {
    batch: (requests) =>
      ask(`rpc ${[...new Set(requests.map(({ method }) => method.slice(4)))].join(' ')}`, () => answerAll(requests)),
    sendRawTransactions: (raw) =>
      ask(`send ${raw.map((bytes) => describe(chain.wireOf(bytes))).join(' ')}`, () =>
        raw.map(send).map(classifySubmission),
      ),
  }
}

function describe({ nonce, hash, signedFor }: Wire): string {
  return `${signedFor}@${nonce}:${hash.slice(-6)}`
}

function silence(reason: 'timeout' | 'overloaded'): RpcResult {
  return { ok: false, error: unavailable(reason, 'simulated') }
}

/** The chain as this answer shows it: current, some blocks ago, or on the abandoned branch. */
function viewOf({ chain, random, faults }: NodeSettings): readonly ChainBlock[] {
  if (!faults() || random.chance(0.9)) return chain.blocks()
  const branch = random.chance(0.3) ? chain.left() : chain.blocks()
  return branch.slice(0, Math.max(1, branch.length - random.between(0, MAX_LAG_BLOCKS)))
}

/**
 * Full nodes keep the states of few blocks, and all blocks. For blocks that the follower never processed, only a state
 * shows the nonce.
 */
const STATES_KEPT = 8

function answer(
  chain: SimulatedChain,
  view: readonly ChainBlock[],
  request: RpcRequest,
  keepsStates: boolean,
): RpcResult {
  if (!keepsStates && request.method === 'eth_getTransactionCount' && isForgotten(view, request.params[1]))
    return { ok: false, error: { kind: 'answer', code: -32000, message: 'missing trie node' } }
  const value = read(chain, view, request)
  return value === undefined
    ? { ok: false, error: { kind: 'answer', code: -32000, message: 'header not found' } }
    : { ok: true, value }
}

/** Whether a foreign transaction used a nonce in a block up to this one. */
function isTakenBelow(blocks: readonly ChainBlock[], number: number): boolean {
  return blocks.some((block) => block.number <= number && block.transactions.some(isStranger))
}

function isForgotten(view: readonly ChainBlock[], at: unknown): boolean {
  return typeof at === 'string' && at.startsWith('0x') && readCount(at, 'a block') < view.length - STATES_KEPT
}

function read(chain: SimulatedChain, view: readonly ChainBlock[], { method, params }: RpcRequest): unknown {
  const at = (param: unknown) => {
    if (typeof param === 'object') return view.find(({ hash }) => hash === (param as { blockHash: string }).blockHash)
    return param === 'latest' ? view.at(-1) : view[readCount(param, 'a block')]
  }
  switch (method) {
    case 'eth_blockNumber':
      return toQuantity(view.length - 1)
    case 'eth_getBlockByNumber':
      return asBlock(at(params[0]), params[1] === true)
    case 'eth_getBlockReceipts':
      return receiptsOf(at(params[0]))
    case 'eth_getBlockTransactionCountByNumber':
      return at(params[0]) === undefined ? null : toQuantity(at(params[0])?.transactions.length ?? 0)
    case 'eth_getTransactionReceipt':
      return (
        view.flatMap((block) => receiptsOf(block) ?? []).find(({ transactionHash }) => transactionHash === params[0]) ??
        null
      )
    case 'eth_getTransactionByHash': {
      const shown = [...view.flatMap(({ transactions }) => transactions), ...chain.pooled()]
      const wire = shown.find(({ hash }) => hash === params[0])
      return wire === undefined ? null : asTransaction(wire)
    }
    case 'eth_getBalance':
      return balanceAt(view, String(params[0]), (params[1] as { readonly blockHash: string }).blockHash)
    case 'eth_getTransactionCount':
      if (params[1] === 'pending') return toQuantity(chain.pendingCount(String(params[0])))
      return countAt(at(params[1]), String(params[0]))
    default:
      throw new Error(`the simulated node knows no ${method}`)
  }
}

function countAt(block: ChainBlock | undefined, account: string): string | undefined {
  return block === undefined ? undefined : toQuantity(block.counts.get(account) ?? 0)
}

/** Only for recent blocks: the states of older ones are not kept. */
function balanceAt(view: readonly ChainBlock[], account: string, blockHash: string): string | undefined {
  const block = view.slice(-STATES_KEPT).find(({ hash }) => hash === blockHash)
  return block === undefined ? undefined : toQuantity(block.balances.get(account.toLowerCase()) ?? 0n)
}

function asBlock(block: ChainBlock | undefined, full: boolean): unknown {
  if (block === undefined) return null
  const { number, hash, parentHash, timestamp, baseFee } = block
  const transactions = block.transactions.map((wire) => (full ? asTransaction(wire) : wire.hash))
  return {
    number: toQuantity(number),
    hash,
    parentHash,
    timestamp: toQuantity(timestamp),
    baseFeePerGas: toQuantity(baseFee),
    transactions,
  }
}

function asTransaction(wire: Wire) {
  const { signed } = wire
  return {
    type: '0x2',
    chainId: toQuantity(CHAIN_ID),
    accessList: [],
    hash: wire.hash,
    from: wire.from,
    to: wire.to,
    nonce: toQuantity(wire.nonce),
    value: toQuantity(BigInt(wire.value)),
    input: '0x',
    gas: toQuantity(BigInt(wire.gasLimit)),
    maxFeePerGas: toQuantity(BigInt(wire.maxFeePerGas)),
    maxPriorityFeePerGas: toQuantity(BigInt(wire.maxPriorityFeePerGas)),
    ...(signed === null ? {} : { r: signed.r, s: signed.s, yParity: toQuantity(signed.yParity) }),
  }
}

function receiptsOf(block: ChainBlock | undefined) {
  return block === undefined
    ? null
    : block.transactions.map((wire) => ({
        transactionHash: wire.hash,
        blockHash: block.hash,
        blockNumber: toQuantity(block.number),
        status: wire.to === REVERTING ? '0x0' : '0x1',
        gasUsed: toQuantity(GAS_USED),
        effectiveGasPrice: toQuantity(block.baseFee),
        logs: [],
      }))
}

/** The node as a process of the world uses it. */
export function nodeOf(world: World, { actor }: PortsOf) {
  return createNode({ ...world, actor, firstWalked: world.store.firstWalked })
}
