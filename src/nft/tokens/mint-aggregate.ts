/** The read models of a mint: its row, its tokens, and their published metadata. Pure. */
import { canonicalJson } from '../../core/canonical-json.ts'
import { type Aggregate, opensItself, type ProjectionContext, type ReadModelRow } from '../../event-log/aggregate.ts'
import { reservedSpends } from '../../transactions/limits.ts'
import { readReserving } from '../../transactions/read-events.ts'
import { contentRows } from '../metadata/content.ts'
import { type MintCommand, mintDecider } from './mint-decider.ts'
import type { Mint, MintEvent } from './mint-events.ts'
import type { MintState, Voucher } from './mint-state.ts'

type Tables = 'nft_mints' | 'nft_tokens' | 'nft_vouchers' | 'nft_metadata' | 'nft_pins'

export const mintAggregate: Aggregate<MintState, MintCommand, MintEvent, Tables> = {
  ...mintDecider,
  category: 'mint',
  whenSetAside: 'hold',
  schemas: {
    MintRecorded: { version: 1, upcasters: [] },
    VoucherRequested: { version: 1, upcasters: [], read: readReserving },
    VoucherSigned: { version: 1, upcasters: [] },
    VoucherRedemptionRequested: { version: 1, upcasters: [] },
    VoucherRevocationRecorded: { version: 1, upcasters: [] },
    VoucherUsed: { version: 1, upcasters: [] },
    VoucherUseReorged: { version: 1, upcasters: [] },
  },
  // Redeeming and revoking a voucher open a transaction, which takes the key.
  opens: opensItself<MintEvent>('MintRecorded'),
  project: (before, after, context) => ({
    rows: after.state === 'unknown' ? [] : [...rowsOf(after.mint, context), ...voucherRows(after.voucher, context)],
    holds: [],
    spends: voucherOf(before) === null ? reservedSpends(voucherOf(after)?.reservations) : [],
  }),
}

function voucherOf(mint: MintState): Voucher | null {
  return mint.state === 'unknown' ? null : mint.voucher
}

function rowsOf(mint: Mint, { id, version }: ProjectionContext): ReadModelRow<Tables>[] {
  const { tenantId, collectionId, mintingType, tokens, requestedAt } = mint
  const row = {
    mint_id: id,
    tenant_id: tenantId,
    collection_id: collectionId,
    minting_type: mintingType,
    created_at: requestedAt,
    version,
  }
  const tokenRows = tokens.map(({ tokenId, transactionId, recipient, amount, cid }): ReadModelRow<Tables> => {
    const token = { token_id: tokenId, transaction_id: transactionId, recipient, amount, cid }
    return {
      table: 'nft_tokens',
      row: { ...token, mint_id: id, collection_id: collectionId, created_at: requestedAt },
    }
  })
  // Tokens with equal metadata share one piece of content.
  const published = new Map(tokens.map(({ cid, metadata }) => [cid, metadata]))
  const contents = [...published].flatMap(([cid, metadata]) =>
    contentRows({ cid, text: canonicalJson(metadata) }, requestedAt),
  )
  return [{ table: 'nft_mints', row }, ...tokenRows, ...contents]
}

function voucherRows(voucher: Voucher | null, { id, version }: ProjectionContext): ReadModelRow<Tables>[] {
  if (voucher === null) return []
  const row = {
    mint_id: id,
    wallet_id: voucher.walletId,
    chain_id: voucher.chainId,
    contract: voucher.contract,
    recipient: voucher.recipient,
    valid_until: voucher.validUntil,
    signature: voucher.signature,
    signed_at: voucher.signedAt,
    revocation_id: voucher.revocationId,
    used_as: voucher.use?.as ?? null,
    used_by: voucher.use?.recipient ?? null,
    used_hash: voucher.use?.hash ?? null,
    used_transaction_id: voucher.use?.transactionId ?? null,
    used_block: voucher.use?.blockNumber ?? null,
    created_at: voucher.requestedAt,
    version,
  }
  return [{ table: 'nft_vouchers', row }]
}
