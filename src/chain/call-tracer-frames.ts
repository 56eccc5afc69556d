/** Reads what `debug_traceBlockByNumber` with `callTracer` returns (go-ethereum, eth/tracers/native/call.go). */
import { type Frame, readAddress, readWei, type TracedTransaction } from './block-trace.ts'
import { readLower } from './hex.ts'
import type { Raw } from './transaction-bytes.ts'

/** CALLCODE runs foreign code as the account itself: from and to of what it moves are the same. */
const KINDS: Readonly<Record<string, Frame['kind']>> = {
  CALL: 'moves',
  CREATE: 'creates',
  CREATE2: 'creates',
  SELFDESTRUCT: 'destroys',
  CALLCODE: 'moves_nothing',
  DELEGATECALL: 'moves_nothing',
  STATICCALL: 'moves_nothing',
}

/** @throws Error when it is no list of traces, or a transaction could not be traced; frames throw when they are read */
export function tracedByCallTracer(value: unknown): TracedTransaction[] {
  if (!Array.isArray(value)) throw new Error('no list of traces')
  return value.map((entry: unknown) => {
    const { txHash, result, error } = fieldsOf(entry)
    if (error != null || result == null) throw new Error('a transaction that the node could not trace')
    return { hash: txHash == null ? null : readLower(txHash, 'the hash of a trace'), frames: framesOf(result) }
  })
}

/** Without recursion: how deep it goes is up to the node. */
function* framesOf(root: unknown): Generator<Frame> {
  const open: { readonly raw: unknown; readonly depth: number }[] = [{ raw: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { raw, depth } = next
    const fields = fieldsOf(raw)
    yield frameOf(fields, depth)
    const calls: readonly unknown[] = Array.isArray(fields.calls) ? fields.calls : []
    for (const call of calls.toReversed()) open.push({ raw: call, depth: depth + 1 })
  }
}

function frameOf({ type, from, to, value, error }: Raw, depth: number): Frame {
  const kind = typeof type === 'string' ? KINDS[type.toUpperCase()] : undefined
  if (kind === undefined) throw new Error('a call of an unknown type')
  const hasFailed = error != null && error !== ''
  // A contract that was not created has no address with some nodes.
  const isNowhere = kind === 'creates' && hasFailed && (to == null || to === '')
  return {
    ...{ depth, kind, hasFailed, value: readWei(value) },
    from: readAddress(from, 'who calls'),
    to: isNowhere ? null : readAddress(to, 'who is called'),
  }
}

function fieldsOf(value: unknown): Raw {
  if (typeof value !== 'object' || value === null) throw new Error('a trace that is no object')
  return value as Raw
}
