/**
 * Parses typed data (EIP-712) in the format of `eth_signTypedData_v4`. Accepted data is recorded and signed in one
 * strict form with the same digest as the input; refused data leaves no trace.
 */
import { createTupleReader, type Member, type ValueRules } from '../chain/abi-values.ts'
import { ValidationFailed } from '../core/errors.ts'
import { createMistakes, type Mistakes } from '../core/mistakes.ts'
import type { SignedTypedData } from './events.ts'
import { type Declaration, readTypes } from './read-types.ts'
import { parseShape } from './shapes.ts'

/** Domain, types and message together. The largest orders of marketplaces have a tenth. */
export const MAX_TYPED_DATA_BYTES = 65_536

export type SentTypedData = {
  readonly domain: Readonly<Record<string, unknown>>
  readonly types: Readonly<Record<string, readonly Declaration[]>>
  /** The field names under which a primary type was sent, each with its value. */
  readonly primaryTypes: Readonly<Record<string, string>>
  readonly message: Readonly<Record<string, unknown>>
}

const VALUES: ValueRules = {
  // Hashing one takes about 20 µs, during which the event loop is blocked.
  maxValues: 2_048,
  tooMany: (count) =>
    `is value number ${count}, but at most ${VALUES.maxValues} values can be signed: sign a hash of them`,
  text: 'must be text',
  hexIntegers: true,
  tuplesAreLists: false,
  wrongTuple: () => 'must be an object with the fields of its type',
  unknownMember: { rule: 'is not a field of its type and would not be signed', advice: 'omit it, or declare it' },
}

type Values = Readonly<Record<string, unknown>> | undefined

/** In the order of EIP-712, which determines the hash. */
const DOMAIN_FIELDS: readonly Declaration[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
]

/**
 * @param chainId of the wallet: data for another chain is refused
 * @throws ValidationFailed naming every invalid field
 */
export function readTypedData(sent: SentTypedData, chainId: number): SignedTypedData {
  requireSize(sent)
  const { EIP712Domain: declaredDomain, ...declared } = sent.types
  const { structs, primaryType } = readTypes(declared)
  const mistakes = createMistakes()
  for (const [field, named] of Object.entries(sent.primaryTypes)) {
    if (named === primaryType) continue
    const rule = `must be ${primaryType}, the type that no other type refers to: send it, or omit the field`
    mistakes.note([field], 'not_allowed', rule)
  }
  const readStruct = createTupleReader(mistakes, VALUES)
  const present = DOMAIN_FIELDS.filter(({ name }) => Object.hasOwn(sent.domain, name))
  const domain = readStruct(present.flatMap(toMember), sent.domain, ['domain']) as Values
  requireDomain(mistakes, present, declaredDomain)
  requireChain(mistakes, domain?.chainId, chainId)
  const message = readStruct(structs.get(primaryType) ?? [], sent.message, ['message']) as Values
  mistakes.settle()
  if (domain === undefined || message === undefined)
    throw new Error('a value that was not read must be reported as a mistake')
  const { chainId: named, ...names } = domain
  const types = Object.fromEntries([...structs].map(([name, fields]) => [name, fields.map(toDeclaration)]))
  return { domain: { ...names, ...(named === undefined ? {} : { chainId }) }, types, message }
}

function toDeclaration({ name, type }: Declaration): Declaration {
  return { name, type }
}

function toMember(declaration: Declaration): Member[] {
  const shape = parseShape(declaration.type, new Map())
  return shape === null ? [] : [{ ...declaration, shape }]
}

/**
 * Wallets may send the type of the domain; if it differed from the domain's own, libraries would compute different
 * hashes.
 */
function requireDomain(
  { note }: Mistakes,
  present: readonly Declaration[],
  declared: readonly Declaration[] | undefined,
): void {
  if (present.length === 0) {
    const names = DOMAIN_FIELDS.map(({ name }) => name).join(', ')
    note(
      ['domain'],
      'required',
      `must have at least one of ${names}: without one, the signature would be valid for every contract and chain`,
    )
  }
  if (declared === undefined) return
  const written = (fields: readonly Declaration[]) => fields.map(({ name, type }) => `${type} ${name}`).join(', ')
  if (written(declared) === written(present)) return
  const rule = `must list exactly the fields of domain, in the order of EIP-712 (${written(present)}), or be omitted`
  note(['types', 'EIP712Domain'], 'domain_mismatch', rule)
}

/** @param named decimal digits; anything that is not a number was reported before */
function requireChain({ note }: Mistakes, named: unknown, chainId: number): void {
  if (typeof named !== 'string' || named === String(chainId)) return
  const rule = `is ${named}, but the chain id of the wallet is ${chainId}: use a wallet on that chain, or correct the field`
  note(['domain', 'chainId'], 'chain_id_mismatch', rule)
}

/** Checked first, since it bounds the cost of parsing. */
function requireSize({ domain, types, message }: SentTypedData): void {
  const bytes = Buffer.byteLength(JSON.stringify([domain, types, message]))
  if (bytes <= MAX_TYPED_DATA_BYTES) return
  const rule = `message, domain and types have ${bytes} bytes of JSON together, but at most ${MAX_TYPED_DATA_BYTES} can be signed: sign a hash of the large part instead.`
  throw ValidationFailed.field('message', 'typed_data_too_large', rule)
}
