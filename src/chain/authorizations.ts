/**
 * EIP-7702 authorizations as nodes return them. Any transaction may carry them, and each valid one uses a nonce of the
 * account that signed it, although no transaction of that account is in the block.
 */

/** The signed fields; `yParity`, `r` and `s` are the signature. */
export type Authorization = {
  /** 0 means every chain. */
  readonly chainId: bigint
  /** The contract whose code the account delegates to. */
  readonly address: string
  readonly nonce: bigint
  readonly yParity: 0 | 1
  readonly r: bigint
  readonly s: bigint
}

const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** The authorizations of a transaction. Malformed ones are skipped: the chain ignores invalid ones too. */
export function readAuthorizations(transaction: Readonly<Record<string, unknown>>): Authorization[] {
  const list: unknown = transaction.authorizationList
  return Array.isArray(list) ? list.flatMap((item) => readOne(item) ?? []) : []
}

function readOne(item: unknown): Authorization | null {
  if (typeof item !== 'object' || item === null) return null
  const { chainId, address, nonce, yParity, v, r, s } = item as Readonly<Record<string, unknown>>
  const numbers = [chainId, nonce, yParity ?? v, r, s].map(quantity)
  const [chain, count, parity, first, second] = numbers
  if (typeof address !== 'string' || !ADDRESS.test(address) || (parity !== 0n && parity !== 1n)) return null
  if (chain === undefined || count === undefined || first === undefined || second === undefined) return null
  return { chainId: chain, address, nonce: count, yParity: parity === 0n ? 0 : 1, r: first, s: second }
}

function quantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && QUANTITY.test(value) ? BigInt(value) : undefined
}
