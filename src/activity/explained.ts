/** How `explain` reports an observed transfer. */
import { explained } from '../capability.ts'
import { formatAmount } from '../core/money.ts'
import { observedTransferAggregate } from './aggregate.ts'

export const explainedTransfer = explained(observedTransferAggregate, {
  kind: 'observedTransfer',
  noun: 'observed transfer',
  texts: {
    TransferObserved: ({ direction, amount, asset, walletId, counterparty, hash, blockNumber, valuation }) => {
      const value = valuation === null ? 'price unknown' : `${valuation.usd} US dollars`
      const other = counterparty ?? 'a new contract'
      const moved = `${formatAmount(BigInt(amount), asset.decimals)} ${asset.symbol} (${value})`
      return direction === 'in'
        ? `${walletId} received ${moved} from ${other} in block ${blockNumber}, transaction ${hash}`
        : `${moved} left ${walletId} for ${other} in block ${blockNumber}, transaction ${hash}`
    },
    TransferConfirmed: ({ blockNumber, confirmations }) =>
      `block ${blockNumber} has ${confirmations} confirmations: confirmed`,
    TransferOrphaned: ({ blockNumber, wasConfirmed }) =>
      `reorg: block ${blockNumber} is no longer in the chain${wasConfirmed ? ', after the transfer was confirmed' : ''}`,
  },
})
