/** Finds the function that a request names: in its ABI, or as a signature. Only fragments that can be meant are parsed. */
import { type AbiFragment, type FragmentKind, headOf, parseFragment } from '../chain/abi-fragment.ts'
import { closest } from '../core/closest.ts'
import { ValidationFailed } from '../core/errors.ts'

const MAX_ABI_BYTES = 65_536
const MAX_FRAGMENTS = 1_024
/** Functions of one name. */
const MAX_OVERLOADS = 64
/** A suggestion costs as much as the number of candidate names. */
const MAX_NAMED = 32

export type Abi = readonly unknown[]

export type FoundFunction = AbiFragment & {
  /** False for a signature that does not state it: nothing is then refused because of it. */
  readonly isMutabilityKnown: boolean
}

/** @throws ValidationFailed `too_large`, `too_many` */
export function requireAbiSize(abi: Abi): void {
  const bytes = Buffer.byteLength(JSON.stringify(abi))
  if (bytes > MAX_ABI_BYTES) {
    const rule = `abi has ${bytes} bytes, but at most ${MAX_ABI_BYTES} are allowed: send only the fragments that the call uses.`
    throw ValidationFailed.field('abi', 'too_large', rule)
  }
  if (abi.length > MAX_FRAGMENTS) {
    const rule = `abi has ${abi.length} fragments, but at most ${MAX_FRAGMENTS} are allowed: send only those that the call uses.`
    throw ValidationFailed.field('abi', 'too_many', rule)
  }
}

/**
 * @param wanted a name, or a signature if the name is overloaded
 * @throws ValidationFailed `unknown_function`, `ambiguous_function` listing the signatures, `invalid_abi`
 */
export function findFunction(abi: Abi, wanted: string): FoundFunction {
  const [name = ''] = wanted.trim().split('(')
  const candidates = abi.flatMap((source, index) => {
    const head = headOf(source)
    return head?.kind === 'function' && head.name === name ? [{ source, index }] : []
  })
  if (candidates.length > MAX_OVERLOADS) throw ValidationFailed.field('abi', 'too_many', `abi has ${name} too often.`)
  const parsed = candidates.map(({ source, index }) => parseFragment('function', source, `abi[${index}]`))
  const functions = [...new Map(parsed.map((each) => [each.signature, each])).values()]
  const signature = wanted.includes('(') ? parseSignature(wanted, 'function').signature : null
  const found = functions.filter((each) => signature === null || each.signature === signature)
  const [first] = found
  if (first === undefined) throw unknownFunction(abi, functions, wanted)
  if (found.length === 1) return { ...first, isMutabilityKnown: true }
  const signatures = found.map((each) => each.signature)
  const rule = `function is ambiguous: abi has ${signatures.join(' and ')}. Send one of these signatures.`
  throw ValidationFailed.field('function', 'ambiguous_function', rule, { candidates: signatures })
}

/** @throws ValidationFailed `invalid_abi` */
export function parseSignature(text: string, field: string): FoundFunction {
  const source = /^\s*function\s/.test(text) ? text : `function ${text}`
  const isMutabilityKnown = /\)[^(]*\b(?:view|pure|payable|nonpayable|constant)\b/.test(text.slice(0, MAX_ABI_BYTES))
  return { ...parseFragment('function', source, field), isMutabilityKnown }
}

/** The events or errors of an ABI. @throws ValidationFailed `invalid_abi` naming the fragment */
export function fragmentsOf(abi: Abi, kind: FragmentKind): readonly AbiFragment[] {
  return abi.flatMap((source, index) =>
    headOf(source)?.kind === kind ? [parseFragment(kind, source, `abi[${index}]`)] : [],
  )
}

function unknownFunction(abi: Abi, functions: readonly AbiFragment[], wanted: string): ValidationFailed {
  const names = functions.length > 0 ? functions.map(({ signature }) => signature) : namesIn(abi)
  const meant = names.length > MAX_NAMED ? undefined : closest(wanted, names)
  const advice =
    meant === undefined ? `it has ${names.slice(0, MAX_NAMED).join(', ') || 'no functions'}` : `did you mean ${meant}?`
  return ValidationFailed.field('function', 'unknown_function', `function is not in abi: ${advice}`)
}

function namesIn(abi: Abi): readonly string[] {
  const heads = abi.map(headOf)
  return [...new Set(heads.flatMap((head) => (head?.kind === 'function' ? [head.name] : [])))]
}
