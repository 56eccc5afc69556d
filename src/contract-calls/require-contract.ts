/** Refuses a call of an address without code: it would succeed, and nothing would happen. */
import type { CodeLookup } from '../chain/code.ts'
import { ValidationFailed } from '../core/errors.ts'

/** @throws ValidationFailed `not_a_contract`; Unavailable when no node answered */
export async function requireContract(code: CodeLookup, address: string): Promise<void> {
  if ((await code.haveCode([address]))[0] === true) return
  const rule = 'contract_address has no code on this network: check the address and the network of the wallet.'
  throw ValidationFailed.field('contract_address', 'not_a_contract', rule)
}
