/** Whether a sender holds the tokens, according to the read models. Pure; the chain is queried separately. */

import { Conflict, type ErrorItem, ValidationFailed } from '../../core/errors.ts'
import type { TokenStandard } from '../contracts/collection.ts'
import type { HeldToken } from './find-holdings.ts'
import { type Fields, fieldOf, type Item, type NftTransferRequest } from './read-fields.ts'

type Refused = Omit<ErrorItem, 'type'>

/**
 * @param held of each item, in the order of the items
 * @throws ValidationFailed `token_not_found`, `not_holder`, `exceeds_balance`, listing all invalid items; Conflict
 *   `token_in_transfer`
 */
export function requireHeld(
  request: NftTransferRequest,
  { from, items }: Fields,
  held: readonly HeldToken[],
  standard: TokenStandard,
): void {
  const mistakes: Refused[] = []
  const leaving: HeldToken[] = []
  for (const [n, item] of items.entries()) {
    const token = held[n]
    if (token === undefined) throw new Error('an item was not looked up')
    const has = token.owned + (token.minting?.amount ?? 0n)
    if (has === 0n) mistakes.push(notHeld(request, n, item, token, from))
    else if (item.amount > has) mistakes.push(tooMuch(request, n, item, has))
    else if (item.amount > has - token.leaving) leaving.push(token)
  }
  if (mistakes.length > 0) throw new ValidationFailed(mistakes)
  const [first] = leaving
  if (first !== undefined) throw inTransfer(first, standard)
}

function notHeld(
  request: NftTransferRequest,
  item: number,
  { tokenId }: Item,
  { holder }: HeldToken,
  from: string,
): Refused {
  if (holder === null) {
    const field = fieldOf(request, item, 'token_id')
    const message = `${field} is ${tokenId}, but this token has no holder: it is not minted yet, or was burnt.`
    return { field, code: 'token_not_found', message }
  }
  const message = `from must be the holder of token ${tokenId}, which is ${holder}, not ${from}.`
  return { field: 'from', code: 'not_holder', message, details: { token_id: tokenId, holder } }
}

function tooMuch(request: NftTransferRequest, item: number, { tokenId, amount }: Item, has: bigint): Refused {
  const field = fieldOf(request, item, 'amount')
  const message = `${field} is ${amount}, but from holds ${has} of token ${tokenId}: send at most ${has}.`
  return { field, code: 'exceeds_balance', message, details: { token_id: tokenId, balance: has.toString() } }
}

function inTransfer({ tokenId, owned, leaving, leavingBy }: HeldToken, standard: TokenStandard): Conflict {
  const rest =
    standard === 'ERC721' ? 'has a pending transfer' : `has pending transfers of ${leaving} of its ${owned} units`
  return new Conflict(
    'token_in_transfer',
    `Token ${tokenId} ${rest} (transfer ${leavingBy}): wait for the transfer, or cancel its transaction.`,
    { token_id: tokenId, transfer_id: leavingBy },
  )
}
