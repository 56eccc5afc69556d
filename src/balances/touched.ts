/** Whose balances a block may have changed, as far as its transactions and their logs tell. Pure. */
import type { Block } from '../chain/blocks.ts'
import { parseTransferLog } from '../chain/erc20.ts'

/** An address, and the token that moved there; `null` for the native currency. Both in lower case. */
export type Touched = { readonly address: string; readonly contract: string | null }

/**
 * Senders pay gas, recipients get value, and both sides of a token's Transfer have another balance of it. What contracts
 * send of the native currency leaves no trace here: the reconciliation finds it.
 */
export function touchedBy(blocks: readonly Block[]): Touched[] {
  const touched = new Map<string, Touched>()
  const touch = (address: string | null, contract: string | null) => {
    if (address !== null) touched.set(`${address} ${contract ?? ''}`, { address, contract })
  }
  for (const { from, to, logs } of blocks.flatMap(({ transactions }) => transactions)) {
    touch(from, null)
    touch(to, null)
    for (const log of logs) {
      const transfer = parseTransferLog(log)
      touch(transfer?.from ?? null, log.address)
      touch(transfer?.to ?? null, log.address)
    }
  }
  return [...touched.values()]
}
