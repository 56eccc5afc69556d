/** Parses the items of a mint: checks every rule of the request's fields, and reports all problems at once. */
import { parseRecipient } from '../../chain/address.ts'
import { type ErrorItem, ValidationFailed } from '../../core/errors.ts'
import type { CollectionType, Standard } from '../collections/events.ts'
import { type Content, contentOf } from '../metadata/content.ts'
import type { MintingType, PublishedToken } from './mint-events.ts'

/** One token in a request. */
export type RequestedToken = {
  readonly recipient?: string | undefined
  readonly metadata?: PublishedToken | undefined
  readonly amount?: string | undefined
  readonly edition?: number | undefined
}

export type RequestedMint = RequestedToken & {
  readonly mintingType: MintingType
  readonly items?: readonly RequestedToken[] | undefined
  /** ISO 8601: when a voucher expires. */
  readonly validUntil?: string | undefined
}

export type MintItem = {
  /** EIP-55; `null` for whoever redeems a voucher. */
  readonly recipient: string | null
  readonly amount: bigint
  readonly metadata: PublishedToken
  readonly content: Content
  /** The required edition; `null` for the next one. */
  readonly edition: number | null
  /** The item's path in the request: ``, or `items[3].`. */
  readonly path: string
}

/** An item that a transaction can mint. */
export type AddressedItem = MintItem & { readonly recipient: string }

const MAX_UINT256 = 2n ** 256n - 1n

/** True except for a LAZY mint. */
export function isAddressed(item: MintItem): item is AddressedItem {
  return item.recipient !== null
}

/** @throws ValidationFailed with all problems, not only the first */
export function readItems(
  request: RequestedMint,
  collection: { readonly standard: Standard; readonly collectionType: CollectionType },
): readonly MintItem[] {
  const mistakes: ErrorItem[] = []
  const check = <Value>(read: () => Value): Value | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ValidationFailed)) throw error
      mistakes.push(...error.items)
      return undefined
    }
  }
  check(() => requireVoucherFields(request, collection))
  const items = placesOf(request, check).map(({ token, path }): MintItem | null => {
    const recipient = check(() => readRecipient(token.recipient, `${path}recipient`, request.mintingType))
    const metadata = check(() => required(token.metadata, `${path}metadata`))
    const content = metadata && check(() => contentOf(metadata, `${path}metadata`))
    const amount = check(() => readAmount(token.amount, `${path}amount`, collection.standard))
    const edition = check(() => readEdition(token.edition, `${path}edition`, collection.collectionType))
    if (recipient === undefined || !metadata || !content || amount === undefined || edition === undefined) return null
    return { recipient, amount, metadata, content, edition, path }
  })
  if (mistakes.length > 0) throw new ValidationFailed(mistakes)
  return items.filter((item) => item !== null)
}

type Check = <Value>(read: () => Value) => Value | undefined

function placesOf(request: RequestedMint, check: Check): { readonly token: RequestedToken; readonly path: string }[] {
  const { mintingType, items, recipient, metadata, amount } = request
  if (mintingType !== 'BATCH') {
    if (items !== undefined)
      check(() => refuse('items', `items is only allowed with minting_type BATCH: omit it for ${mintingType}.`))
    return [{ token: { recipient, metadata, amount }, path: '' }]
  }
  for (const [field, value] of Object.entries({ recipient, metadata, amount })) {
    if (value === undefined) continue
    check(() => refuse(field, `${field} must be sent in each of the items of a BATCH: omit it here.`))
  }
  return (check(() => required(items, 'items')) ?? []).map((token, n) => ({ token, path: `items[${n}].` }))
}

function requireVoucherFields(
  { mintingType, validUntil }: RequestedMint,
  { collectionType }: { readonly collectionType: CollectionType },
): void {
  if (mintingType !== 'LAZY' && validUntil !== undefined) {
    refuse('valid_until', `valid_until is only allowed with minting_type LAZY: omit it for ${mintingType}.`)
  }
  if (mintingType === 'LAZY' && collectionType === 'SERIES') {
    const rule =
      'minting_type LAZY is not allowed in a SERIES, because its tokens are minted in sequence: use DIRECT or BATCH.'
    refuse('minting_type', rule)
  }
}

function readRecipient(recipient: string | undefined, field: string, mintingType: MintingType): string | null {
  if (recipient === undefined && mintingType === 'LAZY') return null
  return parseRecipient(required(recipient, field), field)
}

function refuse(field: string, message: string): never {
  throw ValidationFailed.field(field, 'not_allowed', message)
}

function required<Value>(value: Value | undefined, field: string): Value {
  if (value === undefined) throw ValidationFailed.field(field, 'required', `${field} is required.`)
  return value
}

function readAmount(amount: string | undefined, field: string, standard: Standard): bigint {
  if (amount === undefined) return 1n
  if (standard === 'ERC721') {
    const rule = `${field} is only allowed in ERC1155 collections, because each token of an ERC721 collection is unique: omit it.`
    throw ValidationFailed.field(field, 'not_allowed', rule)
  }
  const units = BigInt(amount)
  if (units <= MAX_UINT256) return units
  throw ValidationFailed.field(field, 'amount_too_large', `${field} is larger than the maximum of 2^256 - 1.`)
}

function readEdition(edition: number | undefined, field: string, type: CollectionType): number | null {
  if (edition === undefined) return null
  if (type === 'SERIES') return edition
  const rule = `${field} is only allowed in collections of the type SERIES, but this one is ${type}: omit it.`
  throw ValidationFailed.field(field, 'not_allowed', rule)
}
