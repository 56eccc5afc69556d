/** The check of a party before it signs a message or typed data: whether the log contains the request. */
import type { Covers } from '../capability.ts'
import { requireSound } from '../event-log/load-checked.ts'
import { notCovered } from '../keys/coverage.ts'
import { isJointKeyOf } from '../wallets/signing-wallet.ts'
import { signatureAggregate } from './aggregate.ts'
import { coversSignature, isOfEveryChain } from './covers.ts'
import { signatureProblem } from './sign-recorded.ts'

/** Only for the key of the wallet of the request, and as the policy of the log says. */
export const coverSignature: Covers = async ({ log, walletOf, check }, { intent, subject, address, keyId }) => {
  const { state, opened } = requireSound(await log.loadChecked(signatureAggregate, [intent.id]))
  if (subject.kind === 'transaction') return notCovered('the request is for a message or typed data')
  if (state.type === 'unknown' || opened === null) return notCovered('the log does not have this signature')
  const wallet = await walletOf(state.wish.walletId)
  if (!isJointKeyOf(wallet, keyId)) return notCovered('the key does not belong to the wallet of the request')
  if (wallet.tenantId !== state.wish.tenantId)
    return notCovered('the wallet and the request belong to different tenants')
  if (wallet.openedFrom !== null && isOfEveryChain(state.wish))
    return notCovered('the signature is good on every chain, and the key belongs to another wallet')
  const problem = await signatureProblem(check)({ id: intent.id, opened, state })
  if (problem !== null) return notCovered(problem)
  return coversSignature(
    state,
    subject.kind === 'message'
      ? { address, type: 'message', message: subject.message }
      : { address, type: 'typed_data', typedData: subject.typedData },
  )
}
