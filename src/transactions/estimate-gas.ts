/**
 * The gas of calls. A plain transfer to an account without code is priced by the rules of the chain (plain-gas.ts), which
 * needs no call of a node if the account exists; anything else is simulated, and a call that would revert is reported with its reason before it is signed. A transfer of a token is
 * executed once with the gas that the token needed before, and estimated only if that is not enough.
 *
 * Invariant: each call is judged alone. A failed or endless simulation says nothing about the other calls; and a call
 * is refused only based on a block that includes everything the log knows about its wallet.
 */
import { LRUCache } from 'lru-cache'
import { reasonByErrors } from '../chain/abi-errors.ts'
import type { CodeLookup } from '../chain/code.ts'
import { readCount, readQuantity, toQuantity } from '../chain/hex.ts'
import { type RpcReader, type RpcRequest, type RpcResult, resultValue, unavailable } from '../chain/json-rpc.ts'
import { returnsFalse } from '../chain/returns-false.ts'
import { classifyCallFailure, ranOutOfGas } from '../chain/rpc-errors.ts'
import { largest } from '../core/money.ts'
import { blameReverts } from './blame-revert.ts'
import type { Call } from './build-call.ts'
import type { UnsimulatedCause } from './held-lanes.ts'
import type { PromiseCheck } from './kind-rules.ts'
import type { PlainGasOf } from './plain-gas.ts'

export type GasRequest = {
  readonly from: string
  readonly call: Call
  /** The maximum gas for the call: its simulation gets no more. */
  readonly mostGas: bigint
  /** The gas limit that the call gets at least: no estimate is needed if it succeeds with that, the margin deducted. */
  readonly leastGas?: bigint
  /** The call is `transfer` of the token that it calls: its least gas is what an earlier transfer of the token needed. */
  readonly isTokenTransfer?: true
  /** A block that the node must have seen, because the call depends on its state. */
  readonly sinceBlock?: number
  /** Recorded errors of the caller's ABI, to decode a revert by. */
  readonly errors?: readonly string[]
  /** What the call must give, where its call data is not ours: it is refused if a simulation gives less. */
  readonly promise?: PromiseCheck
  /** If it reverts, it is asked which contract does. */
  readonly asksReverter?: true
}
export type GasEstimate =
  /**
   * `isExecuted`: the token executed the transfer and did not return false. `newAccount`: the part that creates the account of
   * the recipient.
   */
  | { readonly ok: true; readonly gasLimit: bigint; readonly isExecuted?: true; readonly newAccount?: bigint }
  | {
      readonly ok: false
      readonly code: 'execution_reverted' | 'insufficient_funds'
      readonly reason: string
      readonly revertedBy?: string | null
    }
  /** Nothing is known about the call: no node answered, or with an unrecognized message. It is retried later. */
  | {
      readonly ok: false
      readonly code: 'could_not_simulate'
      readonly reason: string
      readonly cause?: UnsimulatedCause
    }

export type EstimateGas = (requests: readonly GasRequest[]) => Promise<readonly GasEstimate[]>

/** A margin of a fifth for state that changes between the simulation and the block. */
export const GAS_MARGIN_PERCENT = 120n

/** Calls in one body, after the request for the head: one node answers a whole body. */
const CALLS_TOGETHER = 32
/** Concurrent single calls, after a whole body got no answer. */
const CALLS_ALONE = 8
/** Time limit in ms for single calls; the rest wait: if all of them get no answer, the node is at fault. */
const ALONE_BUDGET_MS = 10_000

/** Tokens whose gas is remembered, and for how long: one that needed much gas once is estimated again. */
const REMEMBERED_TOKENS = 1_000
const REMEMBERED_MS = 600_000

/**
 * @param plainGas of transfers to accounts without code
 * @param observedBlock the newest block of a balance of the address: a node that refuses its call must have seen it, in
 *   addition to `sinceBlock`
 * @throws Unavailable when no node reports which addresses have code
 */
export function createEstimateGas(
  client: RpcReader,
  code: CodeLookup,
  plainGas: PlainGasOf,
  observedBlock: (address: string) => Promise<number> = async () => 0,
): EstimateGas {
  const gasOfTokens = new LRUCache<string, bigint>({ max: REMEMBERED_TOKENS, ttl: REMEMBERED_MS })
  return async (asked) => {
    const requests = asked.map((request) => withRemembered(request, gasOfTokens))
    const plain = requests.filter(({ call }) => call.data === '0x')
    const haveCode = await code.haveCode(plain.map(({ call }) => call.to))
    const bare = plain.filter((_, index) => !haveCode[index])
    const withoutCode = new Set(bare)
    const bareGas = await plainGas(bare.map(({ from, call: { to, value } }) => ({ from, to, value })))
    const enough = await withLeastGas(
      client,
      requests.filter((request) => !withoutCode.has(request)),
    )
    const simulated = requests.filter((request) => !withoutCode.has(request) && !enough.has(request))
    const refusals = await confirmed(client, await simulate(client, simulated), observedBlock)
    const judged = await blameReverts(client, simulated, refusals)
    const kept = await keeping(client, simulated, judged, observedBlock)
    rememberGas(gasOfTokens, simulated, kept)
    const estimates = new Map<GasRequest, GasEstimate | undefined>([
      ...enough,
      ...simulated.map((request, index) => [request, kept[index]] as const),
      ...bare.map((request, index) => [request, { ok: true, ...bareGas[index] } as GasEstimate] as const),
    ])
    return requests.map((request) => estimates.get(request) ?? notSimulated('no node answered', 'silent'))
  }
}

/** A transfer of a token gets the gas limit of an earlier one as its least gas, if its simulation may use as much. */
function withRemembered(request: GasRequest, gasOfTokens: LRUCache<string, bigint>): GasRequest {
  const leastGas = request.isTokenTransfer ? gasOfTokens.get(request.call.to) : undefined
  return leastGas === undefined || withoutMargin(leastGas) > request.mostGas ? request : { ...request, leastGas }
}

/** Of the transfers that were estimated, those that need the most gas. */
function rememberGas(
  gasOfTokens: LRUCache<string, bigint>,
  requests: readonly GasRequest[],
  estimates: readonly GasEstimate[],
): void {
  const highest = new Map<string, bigint>()
  for (const [index, { isTokenTransfer, call }] of requests.entries()) {
    const estimate = estimates[index]
    if (isTokenTransfer && estimate?.ok) highest.set(call.to, largest(highest.get(call.to) ?? 0n, estimate.gasLimit))
  }
  // Limits are rounded down: without the margin one more is the estimated gas again, at least.
  for (const [token, gasLimit] of highest) gasOfTokens.set(token, gasLimit + 1n)
}

/** Of the calls that would succeed, those that promised something are refused where they do not keep it. */
function keeping(
  client: RpcReader,
  requests: readonly GasRequest[],
  estimates: readonly GasEstimate[],
  observedBlock: (address: string) => Promise<number>,
): Promise<readonly GasEstimate[]> {
  return Promise.all(
    estimates.map(async (estimate, index) => {
      const request = requests[index]
      if (!estimate.ok || request?.promise === undefined) return estimate
      const { from, promise, sinceBlock = 0 } = request
      const since = Math.max(sinceBlock, await observedBlock(from))
      return (await promise(client, since)) ?? estimate
    }),
  )
}

/**
 * The calls that succeed with their least gas, the margin deducted, so an estimate would give them the same limit. This
 * executes a call once, and an estimate several times. Every other call, also one that fails here, is estimated.
 */
async function withLeastGas(
  client: RpcReader,
  requests: readonly GasRequest[],
): Promise<ReadonlyMap<GasRequest, GasEstimate>> {
  const tried = requests.filter(({ leastGas, promise }) => leastGas !== undefined && promise === undefined)
  const answers = await Promise.all(groupsOf(tried).map((group) => ask(client, group, toLeastRequest)))
  return new Map(
    answers.flat().flatMap((one): [GasRequest, GasEstimate][] => {
      const { leastGas, isTokenTransfer } = one.request
      if (leastGas === undefined || !one.answer.ok || !hasSeen(one)) return []
      if (!isTokenTransfer) return [[one.request, { ok: true, gasLimit: leastGas }]]
      return returnsFalse(one.answer.value) ? [] : [[one.request, { ok: true, gasLimit: leastGas, isExecuted: true }]]
    }),
  )
}

function groupsOf(requests: readonly GasRequest[]): readonly (readonly GasRequest[])[] {
  return Array.from({ length: Math.ceil(requests.length / CALLS_TOGETHER) }, (_, i) =>
    requests.slice(i * CALLS_TOGETHER, (i + 1) * CALLS_TOGETHER),
  )
}

/** A node's result for a call, and the newest block that it had seen. */
type Simulated = { readonly request: GasRequest; readonly answer: RpcResult; readonly head: number | null }

async function simulate(client: RpcReader, requests: readonly GasRequest[]): Promise<readonly Simulated[]> {
  const together = (await Promise.all(groupsOf(requests).map((group) => ask(client, group)))).flat()
  // One endless call leaves its whole body unanswered.
  const silent = together.filter(({ answer }) => !answer.ok && answer.error.kind === 'unavailable')
  if (requests.length < 2) return together
  const alone = new Map<GasRequest, Simulated>()
  const until = performance.now() + ALONE_BUDGET_MS
  let next = 0
  const work = async (): Promise<void> => {
    while (next < silent.length && performance.now() < until) {
      const request = silent[next++]?.request
      const [said] = request === undefined ? [] : await ask(client, [request])
      if (said !== undefined) alone.set(said.request, said)
    }
  }
  await Promise.all(Array.from({ length: CALLS_ALONE }, work))
  return together.map((one) => alone.get(one.request) ?? one)
}

async function ask(
  client: RpcReader,
  requests: readonly GasRequest[],
  encode: (request: GasRequest) => RpcRequest = toEstimateRequest,
): Promise<Simulated[]> {
  // The head is requested first in the same body, so the simulations use that block or a later one.
  const calls = requests.map((request) => encode(request))
  const [head, ...answers] = await client.batch([{ method: 'eth_blockNumber', params: [] }, ...calls])
  const silence: RpcResult = { ok: false, error: unavailable('invalid_response', 'the node did not return it') }
  const known = head?.ok === true ? readCount(head.value, 'a block number') : null
  return requests.map((request, index) => ({ request, answer: answers[index] ?? silence, head: known }))
}

function toEstimateRequest(request: GasRequest, block?: number): RpcRequest {
  const transaction = toTransaction(request, request.mostGas)
  return { method: 'eth_estimateGas', params: block === undefined ? [transaction] : [transaction, toQuantity(block)] }
}

function toLeastRequest(request: GasRequest): RpcRequest {
  return { method: 'eth_call', params: [toTransaction(request, withoutMargin(request.leastGas ?? 0n)), 'latest'] }
}

function withoutMargin(gasLimit: bigint): bigint {
  return (gasLimit * 100n) / GAS_MARGIN_PERCENT
}

function toTransaction({ from, call }: GasRequest, gas: bigint) {
  return { from, to: call.to, value: toQuantity(call.value), data: call.data, gas: toQuantity(gas) }
}

/** Whether the node had seen the block that the call depends on. */
function hasSeen({ request: { sinceBlock = 0 }, head }: Simulated): boolean {
  return sinceBlock === 0 || (head !== null && head >= sinceBlock)
}

/**
 * A refusal ends a transaction permanently, so one replica is not enough: the call is simulated again at a block that
 * has everything the log knows. A node that has not seen that block reports so, and is ignored.
 */
async function confirmed(
  client: RpcReader,
  simulated: readonly Simulated[],
  observedBlock: (address: string) => Promise<number>,
): Promise<readonly GasEstimate[]> {
  const first = simulated.map(estimateOf)
  const refused = simulated.filter((_, index) => isRefusal(first[index]))
  if (refused.length === 0) return first
  const senders = [...new Set(refused.map(({ request }) => request.from))]
  const observed = new Map(await Promise.all(senders.map(async (from) => [from, await observedBlock(from)] as const)))
  const blockOf = ({ request: { from, sinceBlock = 0 }, head }: Simulated) =>
    Math.max(observed.get(from) ?? 0, sinceBlock, head ?? 0)
  const answers = await client.batch(refused.map((one) => toEstimateRequest(one.request, blockOf(one))))
  const second = new Map(refused.map((one, index) => [one, secondWord(one, answers[index], blockOf(one))]))
  return simulated.map((one, index) => second.get(one) ?? (first[index] as GasEstimate))
}

function secondWord(before: Simulated, answer: RpcResult | undefined, block: number): GasEstimate {
  const again = answer === undefined ? before : { ...before, answer, head: block }
  // Nodes that only estimate in their newest state refuse this: the result counts if their head was new enough.
  const refusesBlock =
    answer?.ok === false && ['unknown', 'unsupported'].includes(classifyCallFailure(answer.error).type)
  return refusesBlock && before.head !== null && before.head >= block ? estimateOf(before) : estimateOf(again)
}

function isRefusal(estimate: GasEstimate | undefined): boolean {
  return estimate?.ok === false && estimate.code !== 'could_not_simulate'
}

const CAUSES = { unavailable: 'silent', missing_state: 'behind', unsupported: 'refused', unknown: 'refused' } as const

function estimateOf(simulated: Simulated): GasEstimate {
  const { request, answer } = simulated
  const { sinceBlock, mostGas, errors } = request
  if (!hasSeen(simulated)) return notSimulated(`the node has not seen block ${sinceBlock} yet`, 'behind')
  if (answer.ok) return readEstimate(answer)
  const failure = classifyCallFailure(answer.error)
  if (failure.type === 'insufficient_funds') return { ok: false, code: 'insufficient_funds', reason: failure.message }
  if (failure.type !== 'reverted') return notSimulated(failure.message, CAUSES[failure.type])
  const reason = ranOutOfGas(answer.error)
    ? `The call needs more than ${mostGas} gas, which is the limit for one call.`
    : reasonByErrors(failure, errors) || 'The call would revert without a reason.'
  return { ok: false, code: 'execution_reverted', reason }
}

function readEstimate(answer: RpcResult): GasEstimate {
  try {
    const gas = readQuantity(resultValue(answer, 'eth_estimateGas'), 'the answer to eth_estimateGas')
    return { ok: true, gasLimit: (gas * GAS_MARGIN_PERCENT) / 100n }
  } catch (error) {
    return notSimulated(error instanceof Error ? error.message : String(error))
  }
}

function notSimulated(reason: string, cause?: UnsimulatedCause): GasEstimate {
  return { ok: false, code: 'could_not_simulate', reason, ...(cause === undefined ? {} : { cause }) }
}
