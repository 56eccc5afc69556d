/**
 * Signs the voucher of a lazy mint. Runs in the signer process, as a job.
 *
 * Invariant: only recorded data is signed, a signature is recorded only when the address of the contract's wallet is
 * recovered from it, and the first one is kept: a repeated job changes nothing.
 */
import { voucherTypedData } from '../../chain/nft-voucher.ts'
import type { EventLog } from '../../event-log/log.ts'
import { eip712Digest } from '../../keys/eip712.ts'
import { recoverSigner } from '../../keys/recover-signer.ts'
import { SignatureMismatch } from '../../keys/signature-mismatch.ts'
import type { Signer } from '../../keys/signer.ts'
import type { SigningWalletOf } from '../../wallets/signing-wallet.ts'
import { WalletUnfit } from '../../wallets/wallet-facts.ts'
import { mintAggregate } from './mint-aggregate.ts'
import { requireLazy } from './voucher-decider.ts'
import { chainVoucher } from './voucher-terms.ts'

export type SignVoucherPorts = {
  readonly log: EventLog
  readonly signer: Pick<Signer, 'signTypedData'>
  readonly walletOf: SigningWalletOf
}

/**
 * @throws NotFound for an unknown mint, Conflict `not_lazy`; Unavailable when the key cannot be reached,
 *   SignatureMismatch, WalletUnfit: the job is retried
 */
export type SignVoucher = (mintId: string) => Promise<void>

export function createSignVoucher({ log, signer, walletOf }: SignVoucherPorts): SignVoucher {
  return async (mintId) => {
    const { state } = await log.load(mintAggregate, mintId)
    const { voucher, mint } = requireLazy(state)
    const [token] = mint.tokens
    if (voucher.signature !== null || token === undefined) return
    const { walletId, chainId, contract, recipient, validUntil } = voucher
    const terms = chainVoucher({ ...token, recipient, validUntil })
    const typedData = voucherTypedData(chainId, contract, terms)
    const { key, address, tenantId } = await walletOf(walletId)
    if (tenantId !== mint.tenantId)
      throw new WalletUnfit(`Wallet ${walletId} does not belong to the tenant of mint ${mintId}.`)
    const signature = await signer.signTypedData({ key, intent: { kind: 'voucher', id: mintId }, typedData })
    const digest = `0x${Buffer.from(eip712Digest(typedData)).toString('hex')}`
    if (recoverSigner(digest, signature) !== address) throw new SignatureMismatch(address)
    const metadata = { tenantId: mint.tenantId, actor: 'worker:signer', causationId: mintId }
    await log.execute(mintAggregate, mintId, { type: 'RecordSignature', signature, now: log.now() }, { metadata })
  }
}
