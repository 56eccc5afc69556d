/**
 * Warnings about what a caller may not have intended: recipients that are contracts and do not declare support for the
 * tokens. A mint does not call its receiver, so it continues. No warning when no node answers in time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { BursarError } from '../../core/errors.ts'
import type { CollectionRow } from '../collections/read-collections.ts'
import { type CanReceive, createCanReceive, type Delivery } from '../contracts/receiver.ts'
import type { NftContext } from '../nft-context.ts'
import type { MintView } from './mint-view.ts'

const TIMEOUT_MS = 2_000
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

export type RecipientWarning = { readonly code: string; readonly message: string; readonly field: string }

/** About the recipients of a mint that is recorded. */
export function warnOfRecipients(
  { chainOf }: Pick<NftContext, 'chainOf'>,
  mint: MintView,
  collection: CollectionRow,
): Promise<readonly RecipientWarning[]> {
  const { foreign, code } = chainOf(collection.chain_id)
  return Promise.race([ask(createCanReceive(foreign, code), mint, collection), delay(TIMEOUT_MS, [], { ref: false })])
}

async function ask(
  canReceive: CanReceive,
  { tokens, minting_type }: MintView,
  { standard, contract_address: contract, owner_address: operator }: CollectionRow,
): Promise<readonly RecipientWarning[]> {
  const deliveries = tokens.flatMap(({ owner, token_id, amount }, n): (Delivery & { readonly n: number })[] => {
    const of = { standard, contract, operator, from: ZERO_ADDRESS, tokenId: BigInt(token_id), amount: BigInt(amount) }
    return owner === null ? [] : [{ ...of, to: owner, n }]
  })
  try {
    const taken = await canReceive(deliveries)
    return deliveries
      .filter((_, index) => !taken[index])
      .map(({ n }) => warning(minting_type === 'BATCH' ? `items[${n}].` : ''))
  } catch (error) {
    if (error instanceof BursarError) return [] // The mint is recorded: a failed check is no reason to refuse it.
    throw error
  }
}

function warning(path: string): RecipientWarning {
  const field = `${path}recipient`
  const message = `${field} is a contract that does not declare support for these tokens: it may be unable to transfer them.`
  return { code: 'recipient_cannot_receive', field, message }
}
