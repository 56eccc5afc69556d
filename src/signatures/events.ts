/** The events of a signature over a message or typed data: the owner's request, and the result. */
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { PolicyPart } from '../core/policy-part.ts'
import type { Reservation } from '../core/spend-limits.ts'

export const SIGNATURE_TYPES = ['message', 'typed_data'] as const
export type SignatureType = (typeof SIGNATURE_TYPES)[number]

/**
 * Typed structured data (EIP-712) in one of many equivalent forms: numbers are decimal strings, addresses have their
 * EIP-55 checksum, bytes are lower-case hex, and `message` has exactly the fields of its types.
 */
export type SignedTypedData = {
  readonly domain: {
    readonly name?: string
    readonly version?: string
    readonly chainId?: number
    readonly verifyingContract?: string
    readonly salt?: string
  }
  /** Without `EIP712Domain`. */
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>
  readonly message: Readonly<Record<string, unknown>>
}

/** The fields of every signature request. */
type Wish = {
  readonly tenantId: string
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** Of the wallet, EIP-55: the address that must be recovered from the signature. */
  readonly address: string
  /** The 32 bytes that are signed. */
  readonly digest: string
  /** The policy that judged it; missing where none was in force, and in older events. */
  readonly policy?: PolicyPart
  /** What it counts towards limits of the policy, whatever becomes of it: a signature can be used at any time. */
  readonly reservations?: readonly Reservation[]
  readonly requestedAt: string
}

/** EIP-191, version 0x45. `message`: its bytes in hex, without the prefix. */
export type MessageSignatureRequested = Event<'MessageSignatureRequested', Wish & { readonly message: string }>
export type TypedDataSignatureRequested = Event<
  'TypedDataSignatureRequested',
  Wish & { readonly typedData: SignedTypedData }
>
/** 65 bytes (r, s, v) in hex. */
export type SignatureMade = Event<'SignatureMade', { readonly signature: string; readonly signedAt: string }>

export type SignatureRequested = MessageSignatureRequested | TypedDataSignatureRequested
export type SignatureEvent = SignatureRequested | SignatureMade
