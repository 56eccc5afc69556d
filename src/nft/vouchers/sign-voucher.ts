/**
 * Signs the voucher of a lazy mint. Runs in the signer process, as a job.
 *
 * Invariant: what is signed was recorded before, and the first signature that is recorded stays: a job that comes twice
 * changes nothing.
 */
import { voucherTypedData } from '../../chain/nft-voucher.ts'
import type { EventLog } from '../../event-log/log.ts'
import type { KeyRef, Signer } from '../../keys/signer.ts'
import { mintAggregate } from '../mints/projection.ts'
import { requireLazy } from '../mints/voucher-decider.ts'
import { chainVoucher } from './voucher-terms.ts'

export type SignVoucherPorts = {
  readonly log: EventLog
  readonly signer: Pick<Signer, 'signTypedData'>
  /** The key of a wallet. */
  readonly keyOf: (walletId: string) => Promise<KeyRef>
}

/** @throws NotFound for an unknown mint, Conflict `not_lazy`; Unavailable when the key cannot be reached: the job comes again */
export type SignVoucher = (mintId: string) => Promise<void>

export function createSignVoucher({ log, signer, keyOf }: SignVoucherPorts): SignVoucher {
  return async (mintId) => {
    const { state } = await log.load(mintAggregate, mintId)
    const { voucher, mint } = requireLazy(state)
    const [token] = mint.tokens
    if (voucher.signature !== null || token === undefined) return
    const { walletId, chainId, contract, recipient, validUntil } = voucher
    const terms = chainVoucher({ ...token, recipient, validUntil })
    const typedData = voucherTypedData(chainId, contract, terms)
    const signature = await signer.signTypedData({
      key: await keyOf(walletId),
      intent: { kind: 'voucher', id: mintId },
      typedData,
    })
    const metadata = { tenantId: mint.tenantId, actor: 'worker:signer', causationId: mintId }
    await log.execute(mintAggregate, mintId, { type: 'RecordSignature', signature, now: log.now() }, { metadata })
  }
}
