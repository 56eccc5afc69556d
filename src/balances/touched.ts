/** The addresses whose balances a block may have changed, according to its transactions and logs. Pure. */
import type { Block } from '../chain/blocks.ts'
import { parseTransferLog, parseWrapLog } from '../chain/erc20.ts'
import { NATIVE_LOG_ADDRESS, nativeTransfersOf } from '../chain/native-logs.ts'

/** An address, and the token that moved; `null` for the native currency. Both in lower case. */
export type Touched = { readonly address: string; readonly contract: string | null }

/**
 * Senders pay gas, recipients receive value, both sides of a token's Transfer have a new balance, and so does who wraps
 * or unwraps the native currency. Native currency that contracts move is logged since Amsterdam (EIP-7708); on other
 * chains it is not visible here, and the reconciliation finds it.
 */
export function touchedBy(blocks: readonly Block[]): Touched[] {
  const touched = new Map<string, Touched>()
  const touch = (address: string | null, contract: string | null) => {
    if (address !== null) touched.set(`${address} ${contract ?? ''}`, { address, contract })
  }
  for (const transaction of blocks.flatMap(({ transactions }) => transactions)) {
    const { from, to, logs } = transaction
    touch(from, null)
    touch(to, null)
    for (const moved of nativeTransfersOf(transaction)) {
      touch(moved.from, null)
      touch(moved.to, null)
    }
    for (const log of logs) {
      if (log.address === NATIVE_LOG_ADDRESS) continue
      const transfer = parseTransferLog(log)
      touch(transfer?.from ?? null, log.address)
      touch(transfer?.to ?? null, log.address)
      if (transfer === null) touch(parseWrapLog(log)?.account ?? null, log.address)
    }
  }
  return [...touched.values()]
}
