/**
 * Signs a recorded message or typed data. Runs in the signer process, as a job.
 *
 * Invariant: only recorded data is signed, a signature is recorded only when the wallet's address is recovered from it
 * and the recorded digest, and the first one is kept: a repeated job changes nothing.
 */

import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import { type Opened, requireSound } from '../event-log/load-checked.ts'
import { isOwnDomain } from '../keys/own-domain.ts'
import { recoverSigner } from '../keys/recover-signer.ts'
import { SignatureMismatch } from '../keys/signature-mismatch.ts'
import type { KeyRef, Signer } from '../keys/signer.ts'
import type { CheckRequests } from '../policies/check-requests.ts'
import { problemOf, recordedRequest } from '../policies/recorded-problem.ts'
import { judgedSignature } from '../policies/signature-intents.ts'
import type { SigningWalletOf } from '../wallets/signing-wallet.ts'
import { WalletUnfit } from '../wallets/wallet-facts.ts'
import { signatureAggregate } from './aggregate.ts'
import { isOfEveryChain } from './covers.ts'
import type { KnownSignature } from './state.ts'

/** A request of the log, with what its first event is recorded with. */
export type RecordedSignature = { readonly id: string; readonly opened: Opened; readonly state: KnownSignature }

/** Why the policy of the log forbids it, as a sentence; `null` if it does not. @throws Unavailable */
export type SignatureProblem = (recorded: RecordedSignature) => Promise<string | null>

/** By the policy of the log. */
export function signatureProblem(check: CheckRequests): SignatureProblem {
  return async ({ id, opened, state }) => {
    const { wish } = state
    const { tenantId, environment, requestedAt, walletId, network, chainId } = wish
    const place = { tenantId, environment, requestedAt, walletId, network, chainId }
    const signed = state.type === 'message' ? { message: state.wish.message } : { typedData: state.wish.typedData }
    return problemOf(check, {
      ...recordedRequest({ id, ...opened }, wish),
      reservations: wish.reservations,
      judge: (facts) => judgedSignature({ ...place, ...signed }, facts),
    })
  }
}

/**
 * @throws NotFound for an unknown signature; Unavailable when the key cannot be reached, SignatureMismatch, BrokenChain,
 *   WalletUnfit, also for what the policy of the log forbids: the job is retried
 */
export async function signRecorded(
  {
    log,
    signer,
    walletOf,
    problems,
  }: Pick<Context, 'log'> & {
    readonly signer: Pick<Signer, 'signMessage' | 'signTypedData'>
    readonly walletOf: SigningWalletOf
    readonly problems: { readonly signature: SignatureProblem }
  },
  signatureId: string,
): Promise<void> {
  const { state, opened } = requireSound(await log.loadChecked(signatureAggregate, [signatureId]))
  if (state.type === 'unknown' || opened === null) throw new NotFound('signature')
  if (state.signature !== null) return
  const { tenantId, walletId, address, digest } = state.wish
  const wallet = await walletOf(walletId)
  if (wallet.tenantId !== tenantId || wallet.address !== address) {
    throw new WalletUnfit(`${signatureId} was not recorded for wallet ${walletId}.`)
  }
  // The API refuses them; one from an earlier version or from elsewhere is not signed either.
  if (state.type === 'typed_data' && isOwnDomain(state.wish.typedData.domain))
    throw new WalletUnfit(`${signatureId} is for a collection: vouchers are signed by the NFT routes alone.`)
  if (state.type === 'typed_data' && (state.wish.typedData.domain.chainId ?? wallet.chainId) !== wallet.chainId)
    throw new WalletUnfit(`${signatureId} is for another chain than wallet ${walletId}.`)
  if (wallet.openedFrom !== null && isOfEveryChain(state.wish))
    throw new WalletUnfit(
      `${signatureId} is good on every chain: it is asked of ${wallet.openedFrom}, which has the key.`,
    )
  const problem = await problems.signature({ id: signatureId, opened, state })
  if (problem !== null) throw new WalletUnfit(`${signatureId} does not match the event log: ${problem}.`)
  const signature = await sign(signer, wallet.key, signatureId, state)
  if (recoverSigner(digest, signature) !== address) throw new SignatureMismatch(address)
  const metadata = { tenantId, actor: 'worker:signer', causationId: signatureId }
  const command = { type: 'RecordSignature', signature, now: log.now() } as const
  await log.execute(signatureAggregate, signatureId, command, { metadata })
}

function sign(
  { signMessage, signTypedData }: Pick<Signer, 'signMessage' | 'signTypedData'>,
  key: KeyRef,
  id: string,
  state: KnownSignature,
): Promise<string> {
  const intent = { kind: 'signature', id } as const
  return state.type === 'message'
    ? signMessage({ key, intent, message: Buffer.from(state.wish.message.slice(2), 'hex') })
    : signTypedData({ key, intent, typedData: state.wish.typedData })
}
