/**
 * Which contract made a call revert, from the `callTracer` of a node (the `debug_` methods, which many nodes do not
 * offer). A revert message alone does not say it: a token that the called contract asks for its balance can revert with
 * the words of the called contract, which passes them on.
 */
import type { RpcReader, RpcRequest } from './json-rpc.ts'
import { decodeRevert } from './revert-reason.ts'

/** Who reverted: the called contract itself, or the contract that it called and whose revert it passed on. */
export type Reverter = { readonly by: string; readonly reason: string | null }

const TRACER = { tracer: 'callTracer', timeout: '4s' }

export function traceTransaction(hash: string): RpcRequest {
  return { method: 'debug_traceTransaction', params: [hash, TRACER] }
}

/** @param call as for `eth_call` */
export function traceCall(call: object, block: string): RpcRequest {
  return { method: 'debug_traceCall', params: [call, block, TRACER] }
}

/** @returns `null` where no node says it, or the call does not revert. Never throws. */
export async function askReverter(client: RpcReader, trace: RpcRequest, called: string): Promise<Reverter | null> {
  const [answer] = await client.batch([trace]).catch(() => [])
  return answer?.ok === true ? reverterOf(answer.value, called) : null
}

type Frame = {
  readonly type?: unknown
  readonly from?: unknown
  readonly to?: unknown
  readonly error?: unknown
  readonly output?: unknown
  readonly calls?: unknown
}

/**
 * Follows the revert down the frames of the called contract: calls of itself, and code of others that runs as it
 * (DELEGATECALL). The first other contract on this path is to blame, whatever it calls in turn.
 *
 * @param trace of `callTracer`
 */
export function reverterOf(trace: unknown, called: string): Reverter | null {
  let frame = frameOf(trace)
  if (frame === null || !hasFailed(frame) || !isAddress(frame.to, called)) return null
  const reason = typeof frame.output === 'string' ? (decodeRevert(frame.output)?.text ?? null) : null
  for (;;) {
    const inner = passedOn(frame)
    if (inner === null) return { by: called, reason }
    const isOwn = inner.type === 'DELEGATECALL' ? isAddress(inner.from, called) : isAddress(inner.to, called)
    if (!isOwn) return typeof inner.to === 'string' ? { by: inner.to, reason } : null
    frame = inner
  }
}

/** The last failed call of a frame whose revert data the frame reverted with. */
function passedOn({ calls, output }: Frame): Frame | null {
  const frames = Array.isArray(calls) ? calls.map(frameOf) : []
  return frames.findLast((inner) => inner !== null && hasFailed(inner) && inner.output === output) ?? null
}

function frameOf(value: unknown): Frame | null {
  return typeof value === 'object' && value !== null ? value : null
}

function hasFailed({ error }: Frame): boolean {
  return typeof error === 'string' && error !== ''
}

function isAddress(value: unknown, address: string): boolean {
  return typeof value === 'string' && value.toLowerCase() === address.toLowerCase()
}
