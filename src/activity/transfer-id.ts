/** The id of an observed transfer, derived from what identifies it: a block that is processed again finds the same id. */
import { createHash } from 'node:crypto'
import { ID_PREFIXES } from '../declarations.ts'
import type { Direction } from './events.ts'

export type TransferName = {
  readonly chainId: number
  readonly walletId: string
  readonly direction: Direction
  readonly hash: string
  /**
   * The place of the log among those of its transaction; `null` for the native currency. The index in the block changes when a
   * reorg moves the transaction.
   */
  readonly logOfTransaction: number | null
}

/** A UUIDv8 (RFC 9562): the first bits of a SHA-256. */
export function transferId({ chainId, walletId, direction, hash, logOfTransaction }: TransferName): string {
  const name = [chainId, walletId, direction, hash, logOfTransaction ?? 'native'].join(' ')
  const hex = createHash('sha256').update(name).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `${ID_PREFIXES.observedTransfer}_${parts.join('-')}`
}
