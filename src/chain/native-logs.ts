/**
 * Transfers of the native currency in a transaction: of the transaction itself, and, since Amsterdam, of contracts, which
 * are logged (EIP-7708). Withdrawals of validators, rewards and fees have no log. Pure.
 */
import type { BlockTransaction, ChainLogEntry } from './blocks.ts'
import { parseTransferLog } from './erc20.ts'

/** Emits the logs (`SYSTEM_ADDRESS` of EIP-4788). It has no code and is never a token. */
export const NATIVE_LOG_ADDRESS = '0xfffffffffffffffffffffffffffffffffffffffe'

export type NativeTransfer = {
  readonly from: string
  /** `null` for the value of a created contract before Amsterdam. */
  readonly to: string | null
  /** Wei. */
  readonly amount: bigint
  /** `null` for the value of a transaction before Amsterdam, which has no log. */
  readonly logIndex: number | null
}

/** A log of a native transfer; `null` for any other. Addresses in lower case. */
function parseNativeLog(log: ChainLogEntry): (NativeTransfer & { readonly to: string }) | null {
  const transfer = log.address === NATIVE_LOG_ADDRESS ? parseTransferLog(log) : null
  if (transfer === null) return null
  return { from: transfer.from, to: transfer.to, amount: transfer.value, logIndex: log.logIndex }
}

/** Each movement once, in order: the value of the transaction is also its first log since Amsterdam. */
export function nativeTransfersOf({
  from,
  to,
  value,
  status,
  logs,
}: Pick<BlockTransaction, 'from' | 'to' | 'value' | 'status' | 'logs'>): NativeTransfer[] {
  if (status !== 'success') return []
  const logged = logs.flatMap((log) => parseNativeLog(log) ?? [])
  if (value === 0n || from === to) return logged
  const [first] = logged
  // Before any log of the code that it runs, so no log of that can be mistaken for it.
  const isLogged = first?.from === from && first.amount === value && (to === null || first.to === to)
  return isLogged ? logged : [{ from, to, amount: value, logIndex: null }, ...logged]
}
