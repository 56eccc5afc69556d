/** Every single way in which a node may alter one field of what it says of a block. */
import { isDeepStrictEqual } from 'node:util'
import type { RawParts } from './oracle-block.ts'

type Altered = {
  /** Where, without the places in lists: `receipts.logs.data`. */
  readonly field: string
  readonly isMissing: boolean
  readonly parts: RawParts
}

type Path = readonly (string | number)[]

/** What a node may add: names of fields that some types or forks have. */
const ADDED = {
  ...{
    to: `0x${'44'.repeat(20)}`,
    value: '0x1',
    input: '0x01',
    data: '0x01',
    nonce: '0x1',
    gasPrice: '0x1',
    type: '0x2',
  },
  ...{
    maxFeePerGas: '0x1',
    maxPriorityFeePerGas: '0x1',
    yParity: '0x1',
    accessList: [],
    chainId: '0x1',
    raw: '0x7fc0',
  },
  ...{ status: '0x1', root: '0x01', effectiveGasPrice: '0x1', removed: true, logs: [], baseFeePerGas: '0x1' },
  ...{ requestsHash: '0x01', slotNumber: '0x1', blockAccessListHash: '0x01' },
  authorizationList: [
    { chainId: '0x1', address: `0x${'55'.repeat(20)}`, nonce: '0x1', yParity: '0x0', r: '0x1', s: '0x1' },
  ],
}

/** With other values, without the field, and with one element more or less in each list. */
function* alteredParts(parts: RawParts): Generator<Altered> {
  for (const path of pathsIn(parts)) {
    const field = path.filter((step) => typeof step === 'string').join('.')
    for (const value of [...otherValues(at(parts, path)), ...(path.length > 1 ? [undefined] : [])])
      yield { field, isMissing: value === undefined, parts: changed(parts, path, value) }
    for (const [name, value] of absentIn(at(parts, path)))
      yield { field: `${field} with ${name}`, isMissing: false, parts: changed(parts, [...path, name], value) }
  }
}

function absentIn(value: unknown): (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(ADDED).filter(([name]) => !(name in value))
}

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value))
    yield* pathsIn(inner, [...path, Array.isArray(value) ? Number(name) : name])
}

function otherValues(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.length === 0 ? [['0x01']] : [value.slice(1), [...value, value.at(-1)]]
  if (typeof value === 'boolean') return [!value]
  if (value === null) return ['0x01']
  if (typeof value !== 'string') return []
  const other = `${value.slice(0, -1)}${value.endsWith('1') ? '2' : '1'}`
  return [value === '0x' ? '0x02' : other, `${value}01`]
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string, unknown>)[step], value)
}

function changed(parts: RawParts, path: Path, value: unknown): RawParts {
  const copy = structuredClone(parts)
  const place = at(copy, path.slice(0, -1)) as Record<string, unknown>
  const last = path.at(-1) ?? ''
  if (value === undefined && Array.isArray(place)) place.splice(Number(last), 1)
  else if (value === undefined) delete place[last]
  else place[last] = value
  return copy
}

/** Fields with another value, or without one, that are neither disproved nor read. */
export type Unread = { readonly altered: readonly string[]; readonly missing: readonly string[] }

/**
 * Alters each field in each way.
 *
 * @param read what is read of the parts; `null` when they are disproved
 * @throws Error when something else is read of an altered field than before
 */
export async function unreadFields(parts: RawParts, read: (parts: RawParts) => unknown): Promise<Unread> {
  const before = await read(parts)
  if (before === null) throw new Error('what is altered must be proven')
  const unread = { altered: new Set<string>(), missing: new Set<string>() }
  for (const { field, isMissing, parts: altered } of alteredParts(parts)) {
    const after = await read(altered)
    if (after === null) continue
    if (!isDeepStrictEqual(after, before)) throw new Error(`something else is read when ${field} is another one`)
    if (!field.includes(' ')) unread[isMissing ? 'missing' : 'altered'].add(field)
  }
  return { altered: [...unread.altered].sort(), missing: [...unread.missing].sort() }
}

/** What nothing reads of a block that `provenBlock` proves. A legacy transaction names its chain in `v`, others in `yParity`. */
export const NOTHING_READS: readonly string[] = [
  ...['size', 'totalDifficulty', 'milliTimestamp', 'uncles', 'withdrawals'].map((name) => `block.${name}`),
  ...['from', 'gasPrice', 'chainId', 'v', 'blockTimestamp'].map((name) => `transactions.${name}`),
  ...['from', 'to', 'contractAddress', 'blobGasUsed', 'blobGasPrice', 'authorizationList', 'blockTimestamp'].map(
    (name) => `receipts.${name}`,
  ),
  ...['gasUsed', 'effectiveGasPrice', 'transactionHash'].map((name) => `receipts.${name}`),
  ...['blockTimestamp', 'transactionHash', 'logIndex', 'removed'].map((name) => `receipts.logs.${name}`),
  ...['transactions', 'receipts', 'receipts.logs'].flatMap(placeOf),
]
function placeOf(part: string): string[] {
  return ['blockHash', 'blockNumber', 'transactionIndex'].map((name) => `${part}.${name}`)
}
/** What may be left out, because it then stands for the same: nothing, type 0, `v`, or the price that the transaction names. */
export const MAY_BE_MISSING: readonly string[] = [
  ...NOTHING_READS,
  ...['type', 'to', 'input', 'accessList', 'yParity'].map((name) => `transactions.${name}`),
  ...['type', 'logs'].map((name) => `receipts.${name}`),
]
