/** Answers of nodes under the rules of a fork, as EIP-2780, EIP-8037 and EIP-7910 state them. */
import type { RpcReader, RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'

const ROOT = `0x${'11'.repeat(32)}`
const UP_TO_PRAGUE = {
  ...{ number: '0x10', hash: ROOT, parentHash: ROOT, stateRoot: ROOT, baseFeePerGas: '0x7', withdrawalsRoot: ROOT },
  ...{ parentBeaconBlockRoot: ROOT, blobGasUsed: '0x0', requestsHash: ROOT },
}
const PRECOMPILES = { ECREC: '0x01', P256VERIFY: '0x0100' }

export const HEADERS = {
  before_shanghai: { number: '0x10', hash: ROOT, parentHash: ROOT, baseFeePerGas: '0x7' },
  osaka: UP_TO_PRAGUE,
  amsterdam: { ...UP_TO_PRAGUE, blockAccessListHash: ROOT, slotNumber: '0x10' },
  /** A fork that nobody knows yet. */
  later: { ...UP_TO_PRAGUE, blockAccessListHash: ROOT, executionWitnessHash: ROOT },
} as const

export type ForkNode = RpcReader & {
  /** How often each method was asked. */
  readonly asked: Map<string, number>
  exchanges: number
  fork: keyof typeof HEADERS
  /** Of accounts at the final block; others have none. */
  readonly existing: Set<string>
  /** What an estimate gives, by recipient, or the rules of the fork. Never answers for `silent`. */
  readonly estimates: Map<string, bigint>
  /** Senders whose calls would revert. */
  readonly refusesFrom: Set<string>
  silent: boolean
  hasConfig: boolean
  /** Seconds since the epoch. */
  nextForkAt: number | null
  code: Map<string, string>
}

export function createForkNode(fork: keyof typeof HEADERS = 'amsterdam'): ForkNode {
  const node: ForkNode = {
    asked: new Map(),
    exchanges: 0,
    fork,
    existing: new Set(),
    estimates: new Map(),
    refusesFrom: new Set(),
    silent: false,
    hasConfig: true,
    nextForkAt: null,
    code: new Map(),
    async batch(requests) {
      node.exchanges += 1
      for (const { method } of requests) node.asked.set(method, (node.asked.get(method) ?? 0) + 1)
      if (node.silent) return new Promise(() => undefined)
      return requests.map((request) => answer(node, request))
    },
  }
  return node
}

function answer(node: ForkNode, { method, params }: RpcRequest): RpcResult {
  const [first] = params
  switch (method) {
    case 'eth_getBlockByNumber':
      return { ok: true, value: HEADERS[node.fork] }
    case 'eth_config':
      if (!node.hasConfig) return refused('the method eth_config does not exist/is not available')
      return { ok: true, value: { current: CURRENT, next: nextOf(node), last: null } }
    case 'eth_getBalance':
      return { ok: true, value: node.existing.has(String(first)) ? '0x1' : '0x0' }
    case 'eth_getTransactionCount':
      return { ok: true, value: '0x0' }
    case 'eth_getCode':
      return { ok: true, value: node.code.get(String(first)) ?? '0x' }
    case 'eth_estimateGas':
      if (node.refusesFrom.has((first as EstimateCall).from ?? '')) return refused('execution reverted')
      return { ok: true, value: `0x${estimateOf(node, first as EstimateCall).toString(16)}` }
    default:
      return refused(`${method} is not expected`)
  }
}

const CURRENT = { activationTime: 0, precompiles: PRECOMPILES }

function nextOf({ nextForkAt }: ForkNode): object | null {
  return nextForkAt === null ? null : { activationTime: nextForkAt }
}

type EstimateCall = { readonly from?: string; readonly to: string; readonly value?: string }

function estimateOf({ fork, existing, estimates }: ForkNode, { to, value = '0x0' }: EstimateCall): bigint {
  const given = estimates.get(to)
  if (given !== undefined) return given
  if (fork === 'before_shanghai' || fork === 'osaka') return 21_000n
  if (BigInt(value) === 0n) return 15_000n
  // geth searches for the limit of what it does not compute.
  return existing.has(to.toLowerCase()) ? 21_000n : 207_391n
}

function refused(message: string): RpcResult {
  return { ok: false, error: { kind: 'answer', code: -32601, message, data: null } } as RpcResult
}
