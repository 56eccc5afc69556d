/** What validators withdrew in a block (EIP-4895), proven under the root in its header. Pure. */
import { RLP } from '@ethereumjs/rlp'
import { readLower, readQuantity } from './hex.ts'
import { EMPTY_ROOT, orderedRoot } from './ordered-root.ts'
import { bytesOf, isSame, numberOf, type Raw, within } from './transaction-bytes.ts'

export type Withdrawal = {
  /** In lower case. */
  readonly address: string
  /** Wei. */
  readonly amount: bigint
}

const GWEI = 10n ** 9n

/**
 * @param block with a header that has its hash, and the list beside it
 * @returns none for a block without the root
 * @throws Error when the list does not have the root
 */
export function withdrawalsOf({ withdrawalsRoot: root, withdrawals: shown }: Raw): Withdrawal[] {
  // Nothing that is shown beside a header without withdrawals is under a root.
  if (root == null || isSame(root, EMPTY_ROOT)) return []
  const list: readonly Raw[] = Array.isArray(shown) ? shown : []
  const leaves = list.map((one, i) => within(`withdrawal ${i}`, () => leafOf(one)))
  if (!isSame(root, orderedRoot(leaves))) throw new Error('it has another root of its withdrawals')
  return list.map(({ address, amount }) => ({
    address: readLower(address, 'the address of a withdrawal'),
    amount: GWEI * readQuantity(amount, 'the amount of a withdrawal'),
  }))
}

function leafOf(one: Raw): Uint8Array {
  const { index, validatorIndex, address, amount } = one
  return RLP.encode([
    numberOf(index, 'index'),
    numberOf(validatorIndex, 'validator'),
    bytesOf(address, 'address'),
    numberOf(amount, 'amount'),
  ])
}
