/**
 * Signs one transaction with a key of a kit, to move funds when the service is gone. Works offline; the caller provides
 * nonce, fees and balance.
 */
import { encodeTransfer } from '../../chain/erc20.ts'
import { eip1559Digest, withSignature } from '../../keys/eip1559.ts'
import { recoverSigner } from '../../keys/recover-signer.ts'
import { signatureBytes } from '../../keys/recoverable-signature.ts'
import type { SignedTransaction, UnsignedTransaction } from '../../keys/signer.ts'
import { keyOfAddress } from './kit-keys.ts'
import { KitRefused } from './kit-refused.ts'
import type { OpenedKit } from './open-kits.ts'

/** What to move. Amounts in wei and in base units of the token. */
export type SweepPayload =
  | { readonly kind: 'value'; readonly to: string; readonly value: bigint }
  /** The whole balance minus the maximum gas cost. */
  | { readonly kind: 'balance'; readonly to: string; readonly balance: bigint }
  | { readonly kind: 'token'; readonly to: string; readonly token: string; readonly amount: bigint }
  | { readonly kind: 'call'; readonly to: string; readonly data: string; readonly value: bigint }

export type SweepRequest = {
  /** EIP-55. */
  readonly wallet: string
  readonly payload: SweepPayload
  readonly chainId: number
  readonly nonce: number
  readonly gasLimit: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

export type Sweep = SignedTransaction & {
  readonly transaction: UnsignedTransaction
  readonly heldBy: readonly string[]
}

/** @throws KitRefused when the kit does not have the key, or the balance does not cover the gas */
export function signSweep(kit: OpenedKit, request: SweepRequest): Sweep {
  const transaction = transactionOf(request)
  const { signers, heldBy } = keyOfAddress(kit, request.wallet)
  const [sign] = signers
  if (sign === undefined) throw new KitRefused(`no part of the kit can sign for ${request.wallet}`)
  const digest = eip1559Digest(transaction)
  const signature = sign(digest)
  const signer = recoverSigner(`0x${Buffer.from(digest).toString('hex')}`, signatureBytes(signature))
  if (signer !== request.wallet)
    throw new KitRefused(`the key signs for ${signer ?? 'no address'}, not for ${request.wallet}`)
  return { ...withSignature(transaction, signature), transaction, heldBy }
}

function transactionOf(request: SweepRequest): UnsignedTransaction {
  const { payload, chainId, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = request
  const { to, value, data } = callOf(request, payload)
  return { chainId, nonce, to, value, data, gasLimit, maxFeePerGas, maxPriorityFeePerGas }
}

function callOf(
  { gasLimit, maxFeePerGas }: SweepRequest,
  payload: SweepPayload,
): Pick<UnsignedTransaction, 'to' | 'value' | 'data'> {
  const { to } = payload
  switch (payload.kind) {
    case 'value':
      return { to, value: payload.value, data: '0x' }
    case 'balance': {
      const gas = gasLimit * maxFeePerGas
      if (payload.balance > gas) return { to, value: payload.balance - gas, data: '0x' }
      throw new KitRefused(`The balance of ${payload.balance} wei does not cover the gas, which can cost ${gas} wei.`)
    }
    case 'token':
      return { to: payload.token, value: 0n, data: encodeTransfer(to, payload.amount) }
    case 'call':
      return { to, value: payload.value, data: payload.data }
    default:
      return payload satisfies never
  }
}
