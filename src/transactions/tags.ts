/**
 * Tags: what is signed says for which request it was signed. The low 16 bits of both fees (EIP-1559) are a MAC of the
 * request, under a key that only signers and mpc parties have. So a transaction that the database has forgotten is
 * recognised by its request, also after the request was forgotten and repeated with its idempotency key, and a payment
 * of another program never passes for one of Bursar. Pure.
 *
 * Invariant: a tag depends on nothing that a clock, a restore or a restart changes.
 */
import { createHmac } from 'node:crypto'
import { largest } from '../core/money.ts'
import type { Fees } from './intent.ts'
import type { KnownTransaction } from './state.ts'

/** The wei per gas that the tag of one fee may add; quotes have room for both (`TAG_ROOM_WEI`). */
const TAG_SPAN = 0x1_0000n
const LOW_BITS = TAG_SPAN - 1n
/** Part of the MAC, so that the key can serve nothing else by accident. */
const DOMAIN = 'bursar transaction tag 1'

/** 32 bytes each, the newest first: it signs, and all recognise. */
export type TagKeys = readonly [Uint8Array, ...Uint8Array[]]

/** `send` for the requested call in all its versions, `cancel` for the transfer of zero that replaces it. */
export type TagPurpose = 'send' | 'cancel'

/** The transaction, by its id. */
export type Tagged = { readonly id: string; readonly transaction: Pick<KnownTransaction, 'intent' | 'type'> }

type FeePair = Pick<Fees, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

/** The tags of a transaction under each key, those of the newest key first; 32 bits each. */
export function tagsOf(keys: TagKeys, { id, transaction }: Tagged, purpose: TagPurpose): readonly number[] {
  const { type, intent } = transaction
  const { idempotency } = intent
  const request = idempotency ? ['key', idempotency.key, type, idempotency.part] : ['id', id]
  const text = JSON.stringify([DOMAIN, intent.chainId, intent.from.toLowerCase(), intent.tenantId, ...request, purpose])
  return keys.map((key) => createHmac('sha256', key).update(text).digest().readUInt32BE(0))
}

/** The tag that new bytes get. */
export function tagOf(keys: TagKeys, tagged: Tagged, purpose: TagPurpose): number {
  return tagsOf(keys, tagged, purpose)[0] as number
}

/** The tag that these fees would be: of any transaction, whoever signed it. */
export function readTag({ maxFeePerGas, maxPriorityFeePerGas }: FeePair): number {
  return Number(((maxFeePerGas & LOW_BITS) << 16n) | (maxPriorityFeePerGas & LOW_BITS))
}

/**
 * The fees of first bytes with their tag. The fee cap does not rise, unless it is below one span; the tip rises by less
 * than a span, unless it would be above the fee cap.
 */
export function withTag<Offer extends FeePair>(fees: Offer, tag: number): Offer {
  const [high, low] = halves(tag)
  const lowered = below(fees.maxFeePerGas, high)
  const cap = lowered ?? high
  const maxFeePerGas = cap < low ? cap + TAG_SPAN : cap
  const tip = above(fees.maxPriorityFeePerGas, low)
  const maxPriorityFeePerGas = tip <= maxFeePerGas ? tip : (below(maxFeePerGas, low) ?? low)
  return { ...fees, maxFeePerGas, maxPriorityFeePerGas }
}

/**
 * The fees of a replacement with their tag: each at least a tenth above those that it replaces, as nodes require, and
 * within the limit of the fee cap.
 *
 * @param previous the highest fees signed so far
 * @param most the highest fee cap allowed
 * @returns `null` when the limit leaves no room
 */
export function replacementWithTag<Offer extends FeePair>(
  fees: Offer,
  tag: number,
  { previous, most }: { readonly previous: FeePair; readonly most: bigint },
): Offer | null {
  const [high, low] = halves(tag)
  const raised = above(fees.maxFeePerGas, high)
  const maxFeePerGas = raised <= most ? raised : below(most, high)
  if (maxFeePerGas === null || maxFeePerGas < tenthMore(previous.maxFeePerGas)) return null
  const tip = above(fees.maxPriorityFeePerGas, low)
  const maxPriorityFeePerGas = tip <= maxFeePerGas ? tip : below(maxFeePerGas, low)
  if (maxPriorityFeePerGas === null || maxPriorityFeePerGas < tenthMore(previous.maxPriorityFeePerGas)) return null
  return { ...fees, maxFeePerGas, maxPriorityFeePerGas }
}

function halves(tag: number): readonly [bigint, bigint] {
  return [BigInt(tag >>> 16), BigInt(tag & 0xffff)]
}

/** The lowest fee with these low bits that is not below. */
function above(fee: bigint, bits: bigint): bigint {
  const same = (fee & ~LOW_BITS) | bits
  return same >= fee ? same : same + TAG_SPAN
}

/** The highest fee with these low bits that is not above; `null` when there is none. */
function below(fee: bigint, bits: bigint): bigint | null {
  const same = (fee & ~LOW_BITS) | bits
  if (same <= fee) return same
  return same < TAG_SPAN ? null : same - TAG_SPAN
}

/** A tenth more, rounded up, and at least one wei. */
function tenthMore(fee: bigint): bigint {
  return largest((fee * 11n + 9n) / 10n, fee + 1n)
}
