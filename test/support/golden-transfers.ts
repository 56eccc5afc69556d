/** The parts of the golden log about observed transfers and uses of vouchers. Append new types and versions to `golden-history.ts`. */

type Step = readonly [stream: string, event: string, patch?: Readonly<Record<string, unknown>>]

const transfer = (n: number) => `observed-obs_${String(n).padStart(8, '0')}-7c3e-8b52-8d10-0f6c2f1d8a11`
const ETH = { assetId: 'eip155:1/slip44:60', symbol: 'ETH', decimals: 18, contract: null }
const outgoing = { direction: 'out', asset: ETH, logIndex: null, valuation: null, notices: [] }

export const OBSERVED_TRANSFERS: readonly (readonly Step[])[] = [
  // A deposit: detected, moved to another block by a reorg, confirmed, and orphaned by a deep reorg.
  [[transfer(1), 'TransferObserved.v1']],
  [[transfer(1), 'TransferOrphaned.v1']],
  [[transfer(1), 'TransferObserved.v1', { blockNumber: 43 }]],
  [[transfer(1), 'TransferConfirmed.v1', { blockNumber: 43 }]],
  [[transfer(1), 'TransferOrphaned.v1', { blockNumber: 43, wasConfirmed: true }]],
  // Transfers of a watched address: one that came in and is large, one that is only listed.
  [[transfer(2), 'TransferObserved.v1', { walletId: 'wal_3', notices: ['incoming', 'large_transfer'] }]],
  [[transfer(2), 'TransferConfirmed.v1']],
  [[transfer(3), 'TransferObserved.v1', { ...outgoing, walletId: 'wal_3' }]],
]

export const VOUCHER_USES: readonly (readonly Step[])[] = [
  // Redeemed by somebody else, in a block that left the chain and came back; and one that is revoked.
  [['mint-mint_2', 'VoucherUsed.v1']],
  [['mint-mint_2', 'VoucherUseReorged.v1']],
  [['mint-mint_2', 'VoucherUsed.v1', { blockNumber: 105 }]],
  [['mint-mint_3', 'VoucherUsed.v1', { as: 'revoked', recipient: null, transactionId: 'tx_9' }]],
]
