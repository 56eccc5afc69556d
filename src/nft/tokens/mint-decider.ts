/**
 * The commands of a mint and of its voucher. Pure: token ids, transactions, the time, and what the chain has done to a voucher
 * come with the command.
 */
import { Conflict, NotFound, ValidationFailed } from '../../core/errors.ts'
import type { Decider } from '../../core/messages.ts'
import type { Mint, MintEvent, VoucherTerms, VoucherUse } from './mint-events.ts'
import { evolve, type KnownMint, type MintState, UNKNOWN_MINT, type Voucher } from './mint-state.ts'

export type MintCommand =
  | { readonly type: 'RecordMint'; readonly mint: Mint /** Of a LAZY mint. */; readonly voucher?: VoucherTerms }
  | VoucherCommand

export const mintDecider: Decider<MintState, MintCommand, MintEvent> = {
  initialState: UNKNOWN_MINT,
  evolve,
  decide(command, state) {
    if (command.type !== 'RecordMint') return decideVoucher(command, state)
    if (state.state !== 'unknown') throw new Conflict('mint_exists', 'A mint with this id already exists.')
    const { mint, voucher } = command
    const recorded = { type: 'MintRecorded', data: mint } as const
    return voucher === undefined ? [recorded] : [recorded, { type: 'VoucherRequested', data: voucher }]
  },
}

type Fate = 'pending' | 'done' | 'failed'

/** `null` without such a transaction. Of several, the newest counts: the others failed. */
export type VoucherFacts = {
  readonly redemption: Fate | null
  readonly revocation: Fate | null
  /** What the contract logged of its token id, whoever sent the transaction. */
  readonly used: VoucherUse['as'] | null
}

export type VoucherCommand =
  | { readonly type: 'RecordSignature'; readonly signature: string; readonly now: string }
  | {
      readonly type: 'RequestRedemption'
      /** `null` for the voucher's recipient. */
      readonly recipient: string | null
      readonly transactionId: string
      readonly facts: VoucherFacts
      readonly now: string
    }
  | {
      readonly type: 'RequestRevocation'
      readonly transactionId: string
      readonly facts: VoucherFacts
      readonly now: string
    }
  | { readonly type: 'RecordUse'; readonly use: VoucherUse; readonly now: string }
  /** The blocks above the ancestor left the chain. */
  | { readonly type: 'RecordUseReorg'; readonly ancestorNumber: number; readonly now: string }

/**
 * The transitions of a voucher.
 *
 * Invariant: at most one redemption or revocation is pending, since both are decided under the stream's version.
 * Against redemptions outside Bursar the contract decides: it uses a token id once.
 */
function decideVoucher(command: VoucherCommand, state: MintState): MintEvent[] {
  const known = requireLazy(state)
  const { now } = command
  switch (command.type) {
    case 'RecordSignature':
      if (known.voucher.signature !== null) return []
      return [{ type: 'VoucherSigned', data: { signature: command.signature, signedAt: now } }]
    case 'RequestRedemption': {
      const recipient = requireRedeemable(known, command.recipient, command.facts, now)
      const { transactionId } = command
      return [{ type: 'VoucherRedemptionRequested', data: { recipient, transactionId, requestedAt: now } }]
    }
    case 'RequestRevocation':
      requireUnused(command.facts)
      return [{ type: 'VoucherRevocationRecorded', data: { transactionId: command.transactionId, requestedAt: now } }]
    case 'RecordUse': {
      const { use } = known.voucher
      // Nothing uses an id twice.
      return use === null ? [{ type: 'VoucherUsed', data: { ...command.use, observedAt: now } }] : []
    }
    case 'RecordUseReorg': {
      const { use } = known.voucher
      const { ancestorNumber } = command
      if (use === null || use.blockNumber <= ancestorNumber) return []
      return [{ type: 'VoucherUseReorged', data: { ...use, ancestorNumber, observedAt: now } }]
    }
    default:
      return command satisfies never
  }
}

export type LazyMint = KnownMint & { readonly voucher: Voucher }

/** @throws NotFound; Conflict `not_lazy` */
export function requireLazy(state: MintState): LazyMint {
  if (state.state === 'unknown') throw new NotFound('mint')
  const { voucher, mint } = state
  if (voucher !== null) return { ...state, voucher }
  const message = `The minting_type of this mint is ${mint.mintingType}: only a LAZY mint has a voucher.`
  throw new Conflict('not_lazy', message)
}

/**
 * The recipient of the token.
 *
 * @param recipient EIP-55; `null` for the voucher's recipient
 * @throws Conflict `already_redeemed`, `voucher_revoked`, `voucher_expired`, `voucher_not_signed`; ValidationFailed
 *   `required`, `recipient_mismatch`
 */
export function requireRedeemable(
  { voucher }: LazyMint,
  recipient: string | null,
  facts: VoucherFacts,
  now: string,
): string {
  requireUnused(facts)
  const { validUntil, signature } = voucher
  if (validUntil !== null && now > validUntil) {
    const message = `The voucher expired at ${validUntil}: create a new mint.`
    throw new Conflict('voucher_expired', message, { valid_until: validUntil })
  }
  const to = recipientOf(voucher, recipient)
  if (signature !== null) return to
  throw new Conflict('voucher_not_signed', 'The voucher is not signed yet: try again in a moment.')
}

function recipientOf(voucher: Voucher, recipient: string | null): string {
  const to = recipient ?? voucher.recipient
  if (to === null) {
    const rule = 'recipient is required, because the voucher does not name one.'
    throw ValidationFailed.field('recipient', 'required', rule)
  }
  if (voucher.recipient === null || voucher.recipient === to) return to
  const rule = `recipient must be ${voucher.recipient}, the recipient that the voucher names: send this address, or omit recipient.`
  throw ValidationFailed.field('recipient', 'recipient_mismatch', rule)
}

/** @throws Conflict `already_redeemed`, `voucher_revoked` */
export function requireUnused({ redemption, revocation, used }: VoucherFacts): void {
  if (used === 'minted' || redemption === 'done')
    throw new Conflict('already_redeemed', 'The voucher was already redeemed.')
  if (used === 'revoked' || revocation === 'done') {
    throw new Conflict('voucher_revoked', 'The voucher was revoked: create a new mint.')
  }
  if (redemption === 'pending') {
    throw new Conflict('already_redeemed', 'A redemption of the voucher is pending: read the mint for its status.')
  }
  if (revocation === 'pending') {
    throw new Conflict('voucher_revoked', 'A revocation of the voucher is pending: read the mint for its status.')
  }
}
