/**
 * What a mined swap exchanged, from the logs of its receipt: a balance of a block would mix it with other transactions.
 * Pure; base units.
 */
import { parseAnyTransferLog, parseWrapLog } from '../chain/erc20.ts'
import { smallest } from '../core/money.ts'
import { sameHex } from '../keys/coverage.ts'
import type { RecordedLog, RecordedLogs } from '../transactions/events.ts'
import { GUARD_ADDRESS, guardedAmountsOf } from './contracts/guard.ts'
import type { SwapIntent } from './part.ts'

/** `null` where the logs do not show an amount. */
export type ExecutedSwap = { readonly fromAmount: bigint | null; readonly toAmount: bigint | null }

/**
 * A token: the net amount of its Transfers from or to the wallet. The native currency: what the router wrapped for the
 * wallet, at most what the swap may pay, or what it unwrapped last: a token can trade through the same router while it is
 * transferred, but not after the router has unwrapped for the wallet. A wrap and an unwrap are logged by the token alone.
 * The guard logs what it measured.
 *
 * @param call the wallet, the called contract, and the contract of the sold token
 * @param logs of a successful execution; `null`, or cut ones, show nothing
 */
export function executedSwap(
  { from: wallet, to, contract }: { readonly from: string; readonly to: string; readonly contract: string | null },
  swap: Pick<SwapIntent, 'toAsset' | 'wrapped' | 'amountType' | 'fromAmount' | 'limit'>,
  logs: RecordedLogs | null,
): ExecutedSwap {
  if (logs === null || logs.cut) return { fromAmount: null, toAmount: null }
  const { entries } = logs
  const { toAsset, wrapped } = swap
  if (sameHex(to, GUARD_ADDRESS)) return guardedBy(entries, wallet)
  // A wrap or an unwrap calls the wrapped token itself.
  const account = wrapped !== null && sameHex(to, wrapped) ? wallet : to
  const moved = (token: string, sign: bigint): bigint | null => {
    const [net, found] = received(entries, token, wallet, wrapped)
    return found && net * sign > 0n ? net * sign : null
  }
  const native = (type: 'deposit' | 'withdrawal') => wrappedBy(entries, wrapped, account, type)
  const paid = contract === null ? atMost(sum(native('deposit')), swap) : moved(contract, -1n)
  const got = toAsset.contract === null ? native('withdrawal').at(-1) : moved(toAsset.contract, 1n)
  return { fromAmount: paid || null, toAmount: got || null }
}

/** A swap is made once in a transaction that calls the guard. Without its log no guard was there, and nothing was given. */
function guardedBy(entries: readonly RecordedLog[], wallet: string): ExecutedSwap {
  const [amounts] = entries.flatMap((log) => guardedAmountsOf(log, wallet) ?? [])
  return { fromAmount: amounts?.paid ?? null, toAmount: amounts?.received ?? 0n }
}

type Net = readonly [net: bigint, found: boolean]

/** What the wallet received of a token, minus what it sent. */
function received(entries: readonly RecordedLog[], contract: string, wallet: string, wrapped: string | null): Net {
  const amounts = entries.flatMap((log) => {
    if (!sameHex(log.address, contract)) return []
    const wrapping = wrapped !== null && sameHex(contract, wrapped) ? parseWrapLog(log) : null
    if (wrapping !== null)
      return sameHex(wrapping.account, wallet) ? [wrapping.type === 'deposit' ? wrapping.amount : -wrapping.amount] : []
    const transfer = parseAnyTransferLog(log)
    if (transfer === null) return []
    const net =
      (sameHex(transfer.to, wallet) ? transfer.value : 0n) - (sameHex(transfer.from, wallet) ? transfer.value : 0n)
    return sameHex(transfer.to, wallet) || sameHex(transfer.from, wallet) ? [net] : []
  })
  return [sum(amounts), amounts.length > 0]
}

/** What an account wrapped or unwrapped of the native currency, each time. */
function wrappedBy(
  entries: readonly RecordedLog[],
  wrapped: string | null,
  account: string,
  type: 'deposit' | 'withdrawal',
): readonly bigint[] {
  return entries.flatMap((log) => {
    const wrapping = wrapped !== null && sameHex(log.address, wrapped) ? parseWrapLog(log) : null
    return wrapping?.type === type && sameHex(wrapping.account, account) ? [wrapping.amount] : []
  })
}

/** The value of the call bounds what the router wraps of it. */
function atMost(
  amount: bigint,
  { amountType, fromAmount, limit }: Pick<SwapIntent, 'amountType' | 'fromAmount' | 'limit'>,
): bigint {
  return smallest(amount, BigInt(amountType === 'exact_input' ? fromAmount : limit))
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}

/**
 * How much less arrived than the swap had to give: its minimum, or its exact output. `null` when nothing is missing, or it
 * is not known what arrived.
 */
export function missingOf(
  { amountType, toAmount, limit }: Pick<SwapIntent, 'amountType' | 'toAmount' | 'limit'>,
  { toAmount: arrived }: ExecutedSwap,
): bigint | null {
  const least = BigInt(amountType === 'exact_input' ? limit : toAmount)
  return arrived === null || arrived >= least ? null : least - arrived
}
