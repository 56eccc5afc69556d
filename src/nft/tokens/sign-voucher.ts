/**
 * Signs the voucher of a lazy mint. Runs in the signer process, as a job.
 *
 * Invariant: only recorded data is signed, a signature is recorded only when the address of the contract's wallet is
 * recovered from it, and the first one is kept: a repeated job changes nothing.
 */

import type { Context } from '../../context.ts'
import { type Opened, requireSound } from '../../event-log/load-checked.ts'
import { eip712Digest } from '../../keys/eip712.ts'
import { recoverSigner } from '../../keys/recover-signer.ts'
import { SignatureMismatch } from '../../keys/signature-mismatch.ts'
import type { Signer } from '../../keys/signer.ts'
import type { CheckRequests } from '../../policies/check-requests.ts'
import { problemOf, recordedRequest } from '../../policies/recorded-problem.ts'
import { judgedVoucher } from '../../policies/signature-intents.ts'
import type { SigningWallet, SigningWalletOf } from '../../wallets/signing-wallet.ts'
import { WalletUnfit } from '../../wallets/wallet-facts.ts'
import { voucherTypedData } from '../contracts/voucher.ts'
import { mintAggregate } from './mint-aggregate.ts'
import { requireLazy } from './mint-decider.ts'
import type { Mint } from './mint-events.ts'
import type { Voucher } from './mint-state.ts'
import { chainVoucher } from './voucher-terms.ts'

/** A voucher of the log, with what the first event of its mint is recorded with: the request opened both. */
export type RecordedVoucher = Opened & { readonly id: string; readonly mint: Mint; readonly voucher: Voucher }

/** Why the policy of the log forbids it, as a sentence; `null` if it does not. @throws Unavailable */
export type VoucherProblem = (recorded: RecordedVoucher, wallet: SigningWallet) => Promise<string | null>

/** By the policy of the log. */
export function voucherProblem(check: CheckRequests): VoucherProblem {
  return async ({ id, mint: { tenantId }, voucher, ...opened }, { environment, network }) => {
    const { walletId, chainId, contract, recipient, requestedAt, policy } = voucher
    const place = { tenantId, environment, walletId, requestedAt }
    return problemOf(check, {
      ...recordedRequest({ id, ...opened }, { ...place, policy }),
      reservations: voucher.reservations,
      judge: (facts) => judgedVoucher({ ...place, network, chainId, contract, recipient }, facts),
    })
  }
}

/**
 * @throws NotFound for an unknown mint, Conflict `not_lazy`; Unavailable when the key cannot be reached,
 *   SignatureMismatch, BrokenChain, WalletUnfit, also for what the policy of the log forbids: the job is retried
 */
export async function signVoucher(
  {
    log,
    signer,
    walletOf,
    problems,
  }: Pick<Context, 'log'> & {
    readonly signer: Pick<Signer, 'signTypedData'>
    readonly walletOf: SigningWalletOf
    readonly problems: { readonly voucher: VoucherProblem }
  },
  mintId: string,
): Promise<void> {
  const { state, opened } = requireSound(await log.loadChecked(mintAggregate, [mintId]))
  const { voucher, mint } = requireLazy(state)
  const [token] = mint.tokens
  if (voucher.signature !== null || token === undefined || opened === null) return
  const { walletId, chainId, contract, recipient, validUntil } = voucher
  const terms = chainVoucher({ ...token, recipient, validUntil })
  const typedData = voucherTypedData(chainId, contract, terms)
  const wallet = await walletOf(walletId)
  const { key, address, tenantId } = wallet
  if (tenantId !== mint.tenantId)
    throw new WalletUnfit(`Wallet ${walletId} does not belong to the tenant of mint ${mintId}.`)
  const problem = await problems.voucher({ ...opened, id: mintId, mint, voucher }, wallet)
  if (problem !== null) throw new WalletUnfit(`The voucher of ${mintId} does not match the event log: ${problem}.`)
  const signature = await signer.signTypedData({ key, intent: { kind: 'voucher', id: mintId }, typedData })
  const digest = `0x${Buffer.from(eip712Digest(typedData)).toString('hex')}`
  if (recoverSigner(digest, signature) !== address) throw new SignatureMismatch(address)
  const metadata = { tenantId: mint.tenantId, actor: 'worker:signer', causationId: mintId }
  await log.execute(mintAggregate, mintId, { type: 'RecordSignature', signature, now: log.now() }, { metadata })
}
