/** The check of a party before it signs a voucher: whether the log contains it. */
import type { Covers } from '../../capability.ts'
import { requireSound } from '../../event-log/load-checked.ts'
import { notCovered } from '../../keys/coverage.ts'
import { isJointKeyOf } from '../../wallets/signing-wallet.ts'
import { coversVoucher } from './covers.ts'
import { mintAggregate } from './mint-aggregate.ts'
import { voucherProblem } from './sign-voucher.ts'

/** Only for the key of the wallet that owns the contract, and as the policy of the log says. */
export const coverVoucher: Covers = async ({ log, walletOf, check }, { intent, subject, keyId }) => {
  const { state, opened } = requireSound(await log.loadChecked(mintAggregate, [intent.id]))
  if (subject.kind !== 'typed_data') return notCovered('the request is for a voucher')
  if (state.state === 'unknown' || state.voucher === null || opened === null)
    return notCovered('the log does not have this voucher')
  const { voucher: terms, mint } = state
  const wallet = await walletOf(terms.walletId)
  if (!isJointKeyOf(wallet, keyId)) return notCovered('the key does not belong to the wallet that owns the contract')
  if (wallet.tenantId !== mint.tenantId) return notCovered('the wallet and the mint belong to different tenants')
  const problem = await voucherProblem(check)({ ...opened, id: intent.id, mint, voucher: terms }, wallet)
  if (problem !== null) return notCovered(problem)
  return coversVoucher(state, { walletId: terms.walletId, typedData: subject.typedData })
}
