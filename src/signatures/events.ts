/** The facts of a signature over a message or typed data: what its owner wants signed, and that it was. */
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'

export const SIGNATURE_TYPES = ['message', 'typed_data'] as const
export type SignatureType = (typeof SIGNATURE_TYPES)[number]

/**
 * Typed structured data (EIP-712) in one form of many that mean the same: numbers are decimal digits in strings, addresses
 * have their EIP-55 checksum, bytes are hex in lower case, and `message` has the fields of its types and no other.
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

/** What every wish for a signature says. */
type Wish = {
  readonly tenantId: string
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** Of the wallet, EIP-55: the signature must be recovered to it. */
  readonly address: string
  /** The 32 bytes that the key signs. */
  readonly digest: string
  readonly requestedAt: string
}

/** By EIP-191, version 0x45. `message`: its bytes in hex, without the prefix. */
export type MessageSignatureRequested = Event<'MessageSignatureRequested', Wish & { readonly message: string }>
export type TypedDataSignatureRequested = Event<
  'TypedDataSignatureRequested',
  Wish & { readonly typedData: SignedTypedData }
>
/** 65 bytes (r, s, v) in hex. */
export type SignatureMade = Event<'SignatureMade', { readonly signature: string; readonly signedAt: string }>

export type SignatureRequested = MessageSignatureRequested | TypedDataSignatureRequested
export type SignatureEvent = SignatureRequested | SignatureMade
