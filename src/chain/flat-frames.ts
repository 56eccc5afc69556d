/**
 * Reads what `trace_block` returns (OpenEthereum, and the nodes that have taken it over: Erigon, Nethermind, Reth, anvil): one flat
 * list, in which `traceAddress` says where a call stands.
 */
import { type Frame, MAX_DEPTH, readAddress, readWei, type TracedTransaction } from './block-trace.ts'
import { readLower } from './hex.ts'
import type { Raw } from './transaction-bytes.ts'

/** Rewards of blocks are not of a transaction, and are left out. @throws Error when it is no such list */
export function tracedFlat(value: unknown): TracedTransaction[] {
  if (!Array.isArray(value)) throw new Error('no list of traces')
  const byHash = new Map<string, (Place & { readonly frame: Frame })[]>()
  for (const entry of value as readonly unknown[]) {
    const fields = fieldsOf(entry)
    if (fields.type === 'reward') continue
    const hash = readLower(fields.transactionHash, 'the hash of a trace')
    const address = placeOf(fields.traceAddress)
    const others = byHash.get(hash) ?? []
    others.push({ address, subtraces: fields.subtraces, frame: frameOf(fields, address.length) })
    byHash.set(hash, others)
  }
  return [...byHash].map(([hash, entries]) => {
    checkOrder(entries)
    return { hash, frames: entries.map(({ frame }) => frame) }
  })
}

type Place = { readonly address: readonly number[]; readonly subtraces: unknown }

/** None is left out, and each stands behind the one that made it and what that one called before. @throws Error */
function checkOrder(places: readonly Place[]): void {
  const open: { readonly place: Place; calls: number }[] = []
  const close = (depth: number) => {
    for (const { place, calls } of open.splice(depth))
      if (place.subtraces !== calls) throw new Error('a trace without some of its calls')
  }
  for (const [i, place] of places.entries()) {
    const depth = place.address.length
    close(depth)
    const caller = open.at(-1)
    const isFirst = i === 0 && depth === 0
    const isNext = caller !== undefined && open.length === depth && isCallOf(caller.place.address, place.address)
    if (!isFirst && !(isNext && place.address.at(-1) === caller.calls))
      throw new Error('traces that are not in the order of the calls')
    if (caller !== undefined) caller.calls += 1
    open.push({ place, calls: 0 })
  }
  close(0)
}

function isCallOf(caller: readonly number[], address: readonly number[]): boolean {
  return caller.every((part, i) => part === address[i])
}

function placeOf(value: unknown): readonly number[] {
  if (!Array.isArray(value) || value.length > MAX_DEPTH) throw new Error('a trace without its place')
  return value.map((part: unknown) => {
    if (typeof part !== 'number' || !Number.isSafeInteger(part) || part < 0)
      throw new Error('a trace without its place')
    return part
  })
}

function frameOf({ type, action, result, error }: Raw, depth: number): Frame {
  const { callType, from, to, value, address, refundAddress, balance } = fieldsOf(action)
  const hasFailed = error != null && error !== ''
  const base = { depth, hasFailed }
  if (type === 'suicide' || type === 'selfdestruct')
    return {
      ...base,
      kind: 'destroys',
      from: readAddress(address, 'who ends'),
      to: readAddress(refundAddress, 'who gets the rest'),
      value: readWei(balance),
    }
  const caller = { from: readAddress(from, 'who calls'), value: readWei(value) }
  if (type === 'create') {
    const created = hasFailed ? null : readAddress(fieldsOf(result).address, 'the address of a contract')
    return { ...base, ...caller, kind: 'creates', to: created }
  }
  if (type !== 'call') throw new Error('a call of an unknown type')
  const kind = callType === 'call' || callType == null ? 'moves' : 'moves_nothing'
  return { ...base, ...caller, kind, to: readAddress(to, 'who is called') }
}

function fieldsOf(value: unknown): Raw {
  if (typeof value !== 'object' || value === null) throw new Error('a trace that is no object')
  return value as Raw
}
