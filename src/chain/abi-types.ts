/** Types of Solidity's ABI with the size of their encoding. Each has bounded depth and size. */
import type { ParamType } from 'ethers/abi'
import { parseScalar, type ScalarType } from '../core/scalar-values.ts'

/** A `ValueType`. */
type Kind =
  | ScalarType
  /** `length` is `null` for any number of items. */
  | { readonly kind: 'array'; readonly of: AbiType; readonly length: number | null }
  | { readonly kind: 'tuple'; readonly of: readonly AbiParam[] }

export type AbiType = Kind & {
  /** Whether the head has only the offset of the value. */
  readonly isDynamic: boolean
  /** Words in the head: 1 if dynamic. */
  readonly words: number
}

export type AbiParam = {
  /** Empty if it has none. */
  readonly name: string
  /** Canonical: `uint256`, `(int64,string)[]`. */
  readonly type: string
  readonly shape: AbiType
  /** Of an event: in the topics. */
  readonly isIndexed: boolean
}

/** Levels of arrays and tuples. */
export const MAX_DEPTH = 8
/** Words that are not arrays or tuples. */
const MAX_LEAVES = 256
/** Items of an array whose type states their number. */
const MAX_FIXED_LENGTH = 1_024
/** Words in the head of a list of parameters. */
const MAX_WORDS = 4_096

/** A type that is too deep or too large, or is not known. The message is a rule for callers. */
export class TypeRefused extends Error {
  override readonly name = 'TypeRefused'
}

/** @throws TypeRefused */
export function readParams(params: readonly ParamType[]): readonly AbiParam[] {
  const budget = { leaves: MAX_LEAVES }
  const read = params.map((param) => readParam(param, 0, budget))
  if (words(read) > MAX_WORDS) throw new TypeRefused(`has arrays of more than ${MAX_WORDS} values together`)
  return read
}

type Budget = { leaves: number }

function readParam(param: ParamType, depth: number, budget: Budget): AbiParam {
  const shape = readType(param, depth, budget)
  return { name: param.name, type: param.format('sighash'), shape, isIndexed: param.indexed === true }
}

function readType(param: ParamType, depth: number, budget: Budget): AbiType {
  if (depth > MAX_DEPTH) throw new TypeRefused(`nests arrays and tuples more than ${MAX_DEPTH} levels deep`)
  if (param.isArray()) return readArray(param, depth, budget)
  if (param.isTuple()) {
    const of = param.components.map((component) => readParam(component, depth + 1, budget))
    if (of.length === 0) throw new TypeRefused('has a tuple without components')
    const isDynamic = of.some(({ shape }) => shape.isDynamic)
    return { kind: 'tuple', of, isDynamic, words: isDynamic ? 1 : words(of) }
  }
  budget.leaves -= 1
  if (budget.leaves < 0) throw new TypeRefused(`has more than ${MAX_LEAVES} parameters and components`)
  return readScalar(param.type)
}

function readArray(
  { arrayLength, arrayChildren }: ParamType & { arrayLength: number; arrayChildren: ParamType },
  depth: number,
  budget: Budget,
): AbiType {
  const of = readType(arrayChildren, depth + 1, budget)
  if (arrayLength === -1) return { kind: 'array', of, length: null, isDynamic: true, words: 1 }
  if (arrayLength < 1 || arrayLength > MAX_FIXED_LENGTH || arrayLength * of.words > MAX_WORDS)
    throw new TypeRefused(
      `has an array of ${arrayLength} items: 1 to ${MAX_FIXED_LENGTH} are allowed, with at most ${MAX_WORDS} values`,
    )
  const { isDynamic } = of
  return { kind: 'array', of, length: arrayLength, isDynamic, words: isDynamic ? 1 : arrayLength * of.words }
}

function readScalar(type: string): AbiType {
  const scalar = parseScalar(type)
  if (scalar === null) throw new TypeRefused(`has the unknown type ${type}`)
  const isDynamic = scalar.kind === 'string' || (scalar.kind === 'bytes' && scalar.size === null)
  return { ...scalar, isDynamic, words: 1 }
}

function words(params: readonly AbiParam[]): number {
  return params.reduce((sum, { shape }) => sum + shape.words, 0)
}
