/** Recognizes the refusal of an address that a wallet of the tenant already has, for example one that it watches. */
import { UniqueRuleBroken } from '../event-log/append.ts'

export function isAddressTaken(error: unknown): boolean {
  return error instanceof UniqueRuleBroken && error.constraint === 'wallets_address_once'
}
