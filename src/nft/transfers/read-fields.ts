/** Parses the fields of a token transfer request; they are compared with the chain later. */
import { parseAddress, parseRecipient } from '../../chain/address.ts'
import { type ErrorItem, ValidationFailed } from '../../core/errors.ts'
import type { TokenStandard } from '../contracts/collection.ts'
import type { TransferType } from './events.ts'

export type WantedItem = {
  readonly tokenId: string
  readonly to: string
  /** `null`: one. */
  readonly amount: string | null
}

export type NftTransferRequest = {
  readonly collectionId: string
  readonly from: string
  readonly transferType: TransferType
  readonly items: readonly WantedItem[]
}

/** One token, or units of it, for one receiver. */
export type Item = { readonly tokenId: string; readonly to: string; readonly amount: bigint }

export type Fields = { readonly from: string; readonly items: readonly Item[] }

/** The path of an item's field in the request. */
export function fieldOf(
  { transferType }: Pick<NftTransferRequest, 'transferType'>,
  item: number,
  name: string,
): string {
  return transferType === 'BATCH' ? `items[${item}].${name}` : name
}

/** @throws ValidationFailed with all problems, not only the first */
export function readFields(request: NftTransferRequest, standard: TokenStandard): Fields {
  const mistakes: ErrorItem[] = []
  const attempt = <Value>(read: () => Value, instead: Value): Value => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ValidationFailed)) throw error
      mistakes.push(...error.items)
      return instead
    }
  }
  const from = attempt(() => parseAddress(request.from, 'from'), '')
  const seen = new Set<string>()
  const items = request.items.map(({ tokenId, to, amount }, n) => {
    attempt(() => requireNew(tokenId, seen, fieldOf(request, n, 'token_id')), undefined)
    return {
      tokenId,
      to: attempt(() => parseRecipient(to, fieldOf(request, n, 'to')), ''),
      amount: attempt(() => readUnits(amount, standard, fieldOf(request, n, 'amount')), 0n),
    }
  })
  if (mistakes.length > 0) throw new ValidationFailed(mistakes)
  return { from, items }
}

function requireNew(tokenId: string, seen: Set<string>, field: string): void {
  if (!seen.has(tokenId)) {
    seen.add(tokenId)
    return
  }
  const message = `${field} repeats token ${tokenId}: send each token id once. Transfer further units of it in another request.`
  throw ValidationFailed.field(field, 'duplicate_token', message)
}

function readUnits(amount: string | null, standard: TokenStandard, field: string): bigint {
  const units = BigInt(amount ?? 1)
  if (units === 0n) throw ValidationFailed.field(field, 'amount_zero', `${field} must be greater than 0.`)
  if (standard === 'ERC721' && units !== 1n) {
    const message = `${field} must be 1 or omitted, because an ERC721 token is one unit.`
    throw ValidationFailed.field(field, 'amount_not_one', message)
  }
  return units
}
