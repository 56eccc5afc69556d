/**
 * Decodes revert data: Error(string), Panic(uint256), known custom errors and those of given ABIs. Nodes put the data
 * in different places; all of them are searched.
 */
import type { Interface } from 'ethers/abi'
import { foreignText } from './foreign-text.ts'
import { KNOWN_ERRORS } from './known-errors.ts'

export type DecodedRevert = {
  /** `Error`, `Panic`, `ERC20InsufficientBalance` … */
  readonly name: string
  /** By the parameter names of the ABI, or by index; integers as decimal strings. */
  readonly args: Readonly<Record<string, string>>
  /** One human-readable line. */
  readonly text: string
}

/** Solidity documentation, "Panic via assert and Error via require". */
const PANICS: Readonly<Record<string, string>> = {
  '0': 'compiler panic',
  '1': 'assertion failed',
  '17': 'arithmetic overflow or underflow',
  '18': 'division or modulo by zero',
  '33': 'value out of range of an enum',
  '34': 'storage byte array is wrongly encoded',
  '49': 'pop from an empty array',
  '50': 'array index out of bounds',
  '65': 'out of memory',
  '81': 'call of an uninitialized function',
}

/** Maximum characters of a reason: a contract may return kilobytes. */
const MAX_TEXT = 512

/**
 * @param data return data of the call, including `0x`
 * @param errors ABIs of the called contracts, in addition to the known errors
 * @returns `null` for empty data and for unknown errors
 */
export function decodeRevert(data: string, errors: readonly Interface[] = []): DecodedRevert | null {
  if (data.length < 10) return null
  for (const known of [...KNOWN_ERRORS, ...errors]) {
    const parsed = tryParse(known, data)
    if (parsed !== null) return parsed
  }
  return null
}

function tryParse(known: Interface, data: string): DecodedRevert | null {
  const fragment = known.getError(data.slice(0, 10))
  if (fragment === null) return null
  try {
    const values = known.decodeErrorResult(fragment, data)
    const args = Object.fromEntries(
      fragment.inputs.map((input, i) => [input.name === '' ? String(i) : input.name, show(values[i])]),
    )
    return { name: fragment.name, args, text: foreignText(describe(fragment.name, args), MAX_TEXT) }
  } catch {
    // The selector is known but the data does not decode: treated as unknown.
    return null
  }
}

function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    const text = JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? inner.toString() : inner))
    return foreignText(text, MAX_TEXT)
  }
  return foreignText(String(value), MAX_TEXT)
}

function describe(name: string, args: Readonly<Record<string, string>>): string {
  const [first = ''] = Object.values(args)
  if (name === 'Error') return first
  if (name === 'Panic') return `panic ${first}: ${PANICS[first] ?? 'unknown code'}`
  if (name === 'RouteFailed') return `The route failed: ${innerText(args.reason)}`
  if (name === 'TokenRefused') return `The token ${args.token} refused: ${innerText(args.reason)}`
  const list = Object.entries(args).map(([key, value]) => `${key}: ${value}`)
  return `${name}(${list.join(', ')})`
}

/** What a contract said that the guard of swaps called: never the reason of the guard itself. */
function innerText(data = '0x'): string {
  return decodeRevert(data)?.text || 'without a reason.'
}

const HEX = /0x(?:[0-9a-fA-F]{2})*/

/**
 * Finds revert data in the `data` of a JSON-RPC error: a string (geth and most), `Reverted 0x…` (openethereum), `{ data
 * }` (hardhat), `{ <hash>: { return } }` (ganache).
 *
 * @returns the data; `0x` when the node reports none; `null` when there is no data field
 */
export function findRevertData(data: unknown, depth = 0): string | null {
  if (typeof data === 'string') {
    const match = HEX.exec(data)
    return match !== null && (match[0] === data || /revert/i.test(data)) ? match[0] : null
  }
  if (typeof data !== 'object' || data === null || depth > 2) return null
  const fields = data as Record<string, unknown>
  for (const key of ['data', 'return', 'result', 'originalError']) {
    const found = findRevertData(fields[key], depth + 1)
    if (found !== null) return found
  }
  return depth > 0
    ? null
    : (Object.values(fields)
        .map((value) => findRevertData(value, depth + 1))
        .find(isText) ?? null)
}

function isText(value: string | null): value is string {
  return value !== null
}

const REASONS: readonly RegExp[] = [
  /execution reverted: (.+)$/is,
  /reverted with reason string '(.+)'/is,
  /reverted with custom error '(.+)'/is,
  /execution reverted \((.+)\)$/is,
  /VM Exception while processing transaction: revert (.+)$/is,
]

/** The revert reason in a node's message, for nodes that return no data; `null` when the message has none. */
export function readRevertMessage(message: string): string | null {
  for (const pattern of REASONS) {
    const reason = pattern.exec(message)?.[1]
    if (reason !== undefined) return foreignText(reason, MAX_TEXT)
  }
  return /^execution reverted\.?$|^reverted$/i.test(message.trim()) ? null : foreignText(message, MAX_TEXT)
}
