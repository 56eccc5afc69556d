/**
 * Traces of blocks from the nodes that have them. What one node shows is a hint: who reads it compares nodes, or proves it. A node
 * that is slow or wrong is left alone for a while, so that the follower waits for it once and not at every block.
 */
import { Unavailable } from '../core/errors.ts'
import type { NodeReader, Nodes } from './agreement.ts'
import { movesIn, TRACE_METHODS, type TracedMove, type TraceMethod } from './block-trace.ts'
import type { Block } from './blocks.ts'
import { tracedByCallTracer } from './call-tracer-frames.ts'
import { tracedFlat } from './flat-frames.ts'
import { toQuantity } from './hex.ts'
import type { RpcRequest, RpcResult } from './json-rpc.ts'
import { isUnsupported } from './rpc-errors.ts'

/** The moves of a whole block that one node shows. */
export type NodeTrace = { readonly host: string; readonly moves: readonly TracedMove[] }

export type BlockTraces = {
  /**
   * From as many nodes as are asked for, in the order of preference; fewer, or none, if they do not have it. Never throws: a block
   * is processed without traces too.
   *
   * @param wanted how many nodes
   * @param known traces of the block that were read before: their nodes are not asked again
   */
  readonly read: (block: Block, wanted: number, known?: readonly NodeTrace[]) => Promise<readonly NodeTrace[]>
  /** How each node traces, in the words of `/readyz`. */
  readonly state: () => Promise<string>
}

/** Geth aborts a transaction that takes longer. */
const TRACER = { tracer: 'callTracer', timeout: '5s' }
/** A node without traces may get them by an update, or a changed setting. */
const RECHECK_MS = 600_000
const LEFT_ALONE_MS = 30_000
/** Costs nothing: there is nothing to trace in it. Geth refuses it in words of its own. */
const PROBED_BLOCK = '0x0'

type Known = { readonly method: TraceMethod | null; readonly until: number }

/**
 * @param nodes with a timeout and a limit of bytes of their own, so that a trace stops no other read
 * @param now a clock, ms
 * @param onRefused is called with what is wrong with a trace
 */
export function createBlockTraces(
  { nodes }: Pick<Nodes, 'nodes'>,
  { now, onRefused }: { readonly now: () => number; readonly onRefused: (host: string, reason: string) => void },
): BlockTraces {
  const known = new Map<string, Known>()
  const restingUntil = new Map<string, number>()
  const methodOf = async (node: NodeReader): Promise<TraceMethod | null> => {
    const last = known.get(node.host)
    if (last !== undefined && now() < last.until) return last.method
    const method = await probe(node)
    // A node that is silent may have them.
    if (method !== 'silent') known.set(node.host, { method, until: now() + RECHECK_MS })
    return method === 'silent' ? null : method
  }
  const readFrom = async (node: NodeReader, block: Block): Promise<NodeTrace | null> => {
    if (now() < (restingUntil.get(node.host) ?? Number.NEGATIVE_INFINITY)) return null
    const method = await methodOf(node)
    if (method === null) return null
    const [result] = await node.batch([requestOf(method, toQuantity(block.number))])
    const read = movesFrom(block, method, result)
    if (typeof read !== 'string') return { host: node.host, moves: read }
    restingUntil.set(node.host, now() + LEFT_ALONE_MS)
    onRefused(node.host, read)
    return null
  }
  return {
    async read(block, wanted, before = []) {
      const traces = [...before]
      for (const node of nodes()) {
        if (traces.length >= wanted) break
        if (before.some(({ host }) => host === node.host)) continue
        const trace = await readFrom(node, block)
        if (trace !== null) traces.push(trace)
      }
      return traces
    },
    async state() {
      const told = await Promise.all(nodes().map(async (node) => `${node.host}: ${(await methodOf(node)) ?? 'none'}`))
      return told.join(', ')
    },
  }
}

function requestOf(method: TraceMethod, block: string): RpcRequest {
  return { method, params: method === 'trace_block' ? [block] : [block, TRACER] }
}

/** Both are asked at once: an error other than of a method that is not there shows that it is. */
async function probe(node: NodeReader): Promise<TraceMethod | null | 'silent'> {
  const results = await node.batch(TRACE_METHODS.map((method) => requestOf(method, PROBED_BLOCK)))
  const method = TRACE_METHODS.find((_, i) => hasMethod(results[i]))
  if (method !== undefined) return method
  return results.every((result) => result?.ok === false && isUnsupported(result.error)) ? null : 'silent'
}

function hasMethod(result: RpcResult | undefined): boolean {
  if (result === undefined) return false
  return result.ok || (result.error.kind === 'answer' && !isUnsupported(result.error))
}

/** @returns why there is none, as a text */
function movesFrom(block: Block, method: TraceMethod, result: RpcResult | undefined): readonly TracedMove[] | string {
  if (result?.ok !== true) return result?.error.message ?? 'the node did not respond'
  try {
    return movesIn(block, method === 'trace_block' ? tracedFlat(result.value) : tracedByCallTracer(result.value))
  } catch (error) {
    if (error instanceof Error && !(error instanceof Unavailable)) return error.message
    if (error instanceof Unavailable) return `the trace cannot be read: ${error.message}`
    throw error
  }
}
