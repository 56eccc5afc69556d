/** The state of a signature: the fold of its events. `evolve` accepts every known event in every state. */
import type { MessageSignatureRequested, SignatureEvent, TypedDataSignatureRequested } from './events.ts'

type Made = {
  /** `null` until a signer has signed. */
  readonly signature: string | null
  readonly signedAt: string | null
}

export type KnownSignature = Made &
  (
    | { readonly type: 'message'; readonly wish: MessageSignatureRequested['data'] }
    | { readonly type: 'typed_data'; readonly wish: TypedDataSignatureRequested['data'] }
  )

export type SignatureState = { readonly type: 'unknown' } | KnownSignature

export const UNKNOWN_SIGNATURE: SignatureState = { type: 'unknown' }

const UNSIGNED: Made = { signature: null, signedAt: null }

export function evolve(before: SignatureState, event: SignatureEvent): SignatureState {
  switch (event.type) {
    case 'MessageSignatureRequested':
      return { type: 'message', wish: event.data, ...UNSIGNED }
    case 'TypedDataSignatureRequested':
      return { type: 'typed_data', wish: event.data, ...UNSIGNED }
    case 'SignatureMade':
      return before.type === 'unknown' ? before : { ...before, ...event.data }
    default:
      return event satisfies never
  }
}
