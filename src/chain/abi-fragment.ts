/**
 * Parses functions, events and errors of an ABI, as text or JSON. The parser of ethers takes seconds for a deeply nested
 * type, and prints what it does not understand: it gets one fragment at a time, which has passed our own limits.
 */
import { ErrorFragment, EventFragment, type Fragment, FunctionFragment } from 'ethers/abi'
import { id } from 'ethers/hash'
import { ValidationFailed } from '../core/errors.ts'
import { type AbiParam, MAX_DEPTH, readParams, TypeRefused } from './abi-types.ts'

export type Mutability = 'view' | 'pure' | 'payable' | 'nonpayable'

export type AbiFragment = {
  readonly name: string
  /** All of it in one canonical line, which this module can parse again. */
  readonly text: string
  /** `transfer(address,uint256)`. */
  readonly signature: string
  /** keccak-256 of the signature: an event's first topic; the first 4 bytes select a function or an error. */
  readonly hash: string
  readonly inputs: readonly AbiParam[]
  readonly outputs: readonly AbiParam[]
  /** Of a function. */
  readonly mutability: Mutability
}

export type FragmentKind = 'function' | 'event' | 'error'

const MAX_TEXT = 4_096
const MAX_MEMBERS = 320
const TEXT = /^[\w\s$()[\],]+$/
const NAME = /^(?:[A-Za-z_$][\w$]*)?$/
const TYPE = /^[a-z]+[0-9]*(?:\[\d{0,4}\]){0,8}$/
/** The start of a text fragment. */
const NAMED = /^\s*(function|event|error)\s+([A-Za-z_$][\w$]*)\s*\(/

const PARSERS = { function: FunctionFragment, event: EventFragment, error: ErrorFragment } as const

/** Kind and name of a fragment, without parsing it; `null` for any other one, such as a constructor. */
export function headOf(source: unknown): { readonly kind: FragmentKind; readonly name: string } | null {
  if (typeof source === 'string') {
    const [, kind, name = ''] = NAMED.exec(source.slice(0, MAX_TEXT)) ?? []
    return kind === undefined ? null : { kind: kind as FragmentKind, name }
  }
  if (typeof source !== 'object' || source === null) return null
  const { type = 'function', name } = source as { readonly type?: unknown; readonly name?: unknown }
  return typeof name === 'string' && (type === 'function' || type === 'event' || type === 'error')
    ? { kind: type, name }
    : null
}

/**
 * @param source a text such as `function f(uint256 a) view returns (bool)`, or an object of a JSON ABI
 * @param field the request field that an error names
 * @throws ValidationFailed `invalid_abi`
 */
export function parseFragment(kind: FragmentKind, source: unknown, field: string): AbiFragment {
  try {
    const limited = typeof source === 'string' ? limitText(source) : limitJson(kind, source)
    return toFragment(PARSERS[kind].from(limited))
  } catch (error) {
    const rule = error instanceof TypeRefused ? error.message : `is not a valid ${kind} of Solidity's ABI`
    throw ValidationFailed.field(field, 'invalid_abi', `${field} ${rule}.`)
  }
}

/** @param texts recorded fragments: those that the current limits do not allow are left out */
export function parseRecorded(kind: FragmentKind, texts: readonly string[]): readonly AbiFragment[] {
  return texts.flatMap((text) => {
    try {
      return [parseFragment(kind, text, 'abi')]
    } catch (error) {
      if (error instanceof ValidationFailed) return []
      throw error
    }
  })
}

/** A parsed fragment of a trusted ABI. @throws TypeRefused */
export function toFragment(parsed: Fragment): AbiFragment {
  const { name } = parsed as FunctionFragment
  const signature = parsed.format('sighash')
  const isFunction = parsed instanceof FunctionFragment
  return {
    name,
    signature,
    text: parsed.format('full'),
    hash: id(signature),
    inputs: readParams(parsed.inputs),
    outputs: isFunction ? readParams(parsed.outputs) : [],
    mutability: isFunction ? parsed.stateMutability : 'nonpayable',
  }
}

function limitText(text: string): string {
  if (text.length > MAX_TEXT || !TEXT.test(text))
    throw new TypeRefused(`must be a signature of at most ${MAX_TEXT} letters`)
  let depth = 0
  let deepest = 0
  let members = 0
  for (const letter of text) {
    if (letter === '(') depth += 1
    if (letter === ')') depth -= 1
    if (letter === ',') members += 1
    deepest = Math.max(deepest, depth)
  }
  if (deepest > MAX_DEPTH + 1) throw new TypeRefused(`nests tuples more than ${MAX_DEPTH} levels deep`)
  if (members > MAX_MEMBERS) throw new TypeRefused('has too many parameters')
  return text
}

type Json = Readonly<Record<string, unknown>>

function limitJson(kind: FragmentKind, source: unknown): Json {
  const { name, inputs, outputs, stateMutability, constant, payable, anonymous } = objectOf(source)
  const budget = { members: MAX_MEMBERS }
  if (typeof name !== 'string' || name.length > MAX_TEXT || !NAME.test(name)) throw new TypeRefused('has no valid name')
  return {
    type: kind,
    name,
    inputs: limitParams(inputs ?? [], 0, budget),
    ...(kind === 'function'
      ? { outputs: limitParams(outputs ?? [], 0, budget), stateMutability, constant, payable }
      : {}),
    ...(kind === 'event' ? { anonymous: anonymous === true } : {}),
  }
}

function limitParams(params: unknown, depth: number, budget: { members: number }): Json[] {
  if (!Array.isArray(params)) throw new TypeRefused('must have inputs and outputs as arrays')
  if (depth > MAX_DEPTH) throw new TypeRefused(`nests tuples more than ${MAX_DEPTH} levels deep`)
  return params.map((param: unknown) => {
    const { name = '', type, components, indexed } = objectOf(param)
    budget.members -= 1
    if (budget.members < 0) throw new TypeRefused('has too many parameters')
    if (typeof name !== 'string' || name.length > MAX_TEXT || !NAME.test(name))
      throw new TypeRefused('has a parameter without a valid name')
    if (typeof type !== 'string' || type.length > 64 || !TYPE.test(type))
      throw new TypeRefused('has a parameter without a valid type')
    const own = indexed === true ? { name, type, indexed } : { name, type }
    if (!type.startsWith('tuple')) return own
    if (components === undefined) throw new TypeRefused('has a tuple without components')
    return { ...own, components: limitParams(components, depth + 1, budget) }
  })
}

function objectOf(value: unknown): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  throw new TypeRefused('must be a text or an object of a JSON ABI')
}
