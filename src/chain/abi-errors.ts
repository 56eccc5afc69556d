/** Decodes what a call reverted with: errors of its ABI, known ones, panics, and errors inside of errors. */
import { id } from 'ethers/hash'
import { type DecodedJson, type DecodedValue, decodeValues } from './abi-decode.ts'
import { type AbiFragment, parseFragment, parseRecorded, toFragment } from './abi-fragment.ts'
import { foreignText } from './foreign-text.ts'
import { KNOWN_ERRORS } from './known-errors.ts'
import { decodeRevert } from './revert-reason.ts'

export type CallError = {
  /** `Error`, `Panic`, or the name of a custom error; `null` if it is not known. */
  readonly name: string | null
  readonly args: readonly DecodedValue[]
  /** One line for people. */
  readonly reason: string | null
  /** The error in an argument of type `bytes`. */
  readonly inner: CallError | null
  /** The revert data: its first 4 KiB. */
  readonly data: string
}

const MAX_DATA = 4_096
const MAX_REASON = 512
/** Errors inside of errors that are decoded. */
const MAX_LEVELS = 3
const BUILT_IN = ['error Error(string message)', 'error Panic(uint256 code)'].map((text) =>
  parseFragment('error', text, 'error'),
)

/** @param data revert data, `0x` and hex digits. @param errors of the ABI of the caller */
export function decodeCallError(data: string, errors: readonly AbiFragment[], level = 0): CallError {
  const kept = data.slice(0, 2 + 2 * MAX_DATA)
  const unknown = { name: null, args: [], reason: null, inner: null, data: kept }
  const fragment = findError(data.slice(0, 10), errors)
  const args = fragment === null ? null : decodeValues(fragment.inputs, `0x${data.slice(10)}`)
  if (fragment === null || args === null) return unknown
  const nested = level < MAX_LEVELS ? args.find(isError) : undefined
  const inner = nested === undefined ? null : decodeCallError(String(nested.value), errors, level + 1)
  return { name: fragment.name, args, reason: reasonOf(fragment, args, data, inner), inner, data: kept }
}

/**
 * The reason of a revert for people; `null` if it is not known.
 *
 * @param errors recorded fragments of the caller's ABI
 */
export function reasonByErrors(
  { data, reason }: { readonly data: string | null; readonly reason: string | null },
  errors: readonly string[] = [],
): string | null {
  if (data === null || errors.length === 0) return reason
  return decodeCallError(data, parseRecorded('error', errors)).reason ?? reason
}

function findError(selector: string, errors: readonly AbiFragment[]): AbiFragment | null {
  const own = [...BUILT_IN, ...errors].find(({ hash }) => hash.slice(0, 10) === selector)
  if (own !== undefined) return own
  for (const known of KNOWN_ERRORS) {
    const fragment = /^0x[0-9a-f]{8}$/.test(selector) ? known.getError(selector) : null
    if (fragment !== null) return toFragment(fragment)
  }
  return null
}

function isError({ type, value }: DecodedValue): boolean {
  return type === 'bytes' && typeof value === 'string' && value.length >= 10
}

function reasonOf(
  { name, signature }: AbiFragment,
  args: readonly DecodedValue[],
  data: string,
  inner: CallError | null,
): string {
  if (inner?.reason) return foreignText(`${name}: ${inner.reason}`, MAX_REASON)
  if (BUILT_IN.some((known) => known.hash === id(signature))) return decodeRevert(data)?.text ?? name
  const shown = args.map((arg) => (arg.name === '' ? '' : `${arg.name}: `) + show(arg.value))
  return foreignText(`${name}(${shown.join(', ')})`, MAX_REASON)
}

function show(value: DecodedJson): string {
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (typeof value === 'object' && value !== null) return show((value as DecodedValue).value)
  return String(value)
}
