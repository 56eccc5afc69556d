/**
 * Whether a recorded signature request covers a request to a share holder. Pure: the holder has read the state from the
 * log itself.
 *
 * An existing signature is no objection: an interrupted attempt is repeated, and gives nobody more than the log has.
 */

import { COVERED, type Coverage, notCovered, sameHex } from '../keys/coverage.ts'
import { isOwnDomain } from '../keys/own-domain.ts'
import { sameTypedData } from '../keys/same-typed-data.ts'
import type { TypedData } from '../keys/signer.ts'
import type { SignatureState } from './state.ts'

export type AskedSignature = {
  /** The address of the signing key. */
  readonly address: string
} & (
  | { readonly type: 'message'; readonly message: Uint8Array }
  | { readonly type: 'typed_data'; readonly typedData: TypedData }
)

/**
 * Whether a signature is good on every chain: a message, or typed data without a chain. It is asked of the owner of the key, whose
 * policy judges it: another wallet with the key has rules of its own, for its chain.
 */
export function isOfEveryChain(
  signed:
    | { readonly message: unknown }
    | { readonly typedData: { readonly domain: { readonly chainId?: number | undefined } } },
): boolean {
  return !('typedData' in signed) || signed.typedData.domain.chainId === undefined
}

/** Covers exactly the recorded bytes or typed data, signed by the key of the recorded address. */
export function coversSignature(state: SignatureState, asked: AskedSignature): Coverage {
  if (state.type === 'unknown') return notCovered('the log has no such signature')
  if (!sameHex(asked.address, state.wish.address)) return notCovered('the request names the address of another key')
  if (state.type !== asked.type) return notCovered(`the request is for a signature of the type ${state.type}`)
  if (state.type === 'message')
    return asked.type === 'message' && sameBytes(asked.message, state.wish.message)
      ? COVERED
      : notCovered('the message differs from the recorded one')
  const { typedData, chainId } = state.wish
  if (asked.type !== 'typed_data' || !sameTypedData(asked.typedData, typedData))
    return notCovered('the typed data differs from the recorded one')
  // The API refuses such data; a record from elsewhere is not signed either.
  if (typedData.domain.chainId !== undefined && typedData.domain.chainId !== chainId)
    return notCovered('the typed data is for another chain than the wallet')
  if (isOwnDomain(typedData.domain)) return notCovered('the typed data is for a collection, and not a voucher of it')
  return COVERED
}

function sameBytes(asked: unknown, recorded: string): boolean {
  return asked instanceof Uint8Array && `0x${Buffer.from(asked).toString('hex')}` === recorded.toLowerCase()
}
