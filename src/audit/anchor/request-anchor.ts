/**
 * Anchors a checkpoint on chain: the whole note is the calldata of a zero-value transfer from a wallet to itself, which
 * is accepted, signed and followed like any other transaction. From then on the chain's time and history prove the log
 * at that size.
 */
import { INTRINSIC_GAS } from '../../chain/forks.ts'
import { NotFound } from '../../core/errors.ts'
import type { Accept, Accepted } from '../../event-log/accept.ts'
import { prepareCall } from '../../transactions/prepare-call.ts'
import type { PrepareContext } from '../../transactions/send-context.ts'
import { withAddress } from '../../wallets/find-wallet.ts'
import type { WalletFactsOf } from '../../wallets/wallet-facts.ts'
import type { Checkpoint } from '../note/checkpoint.ts'

/**
 * Anchors the same checkpoint from the same wallet only once: a repeated request returns the earlier transaction.
 *
 * @throws NotFound `wallet_not_found`, ValidationFailed `watch_only`, Conflict `wallet_not_ready` or `wallet_archived`,
 *   InsufficientFunds, Unavailable
 */
export async function requestAnchor(
  ctx: PrepareContext & { readonly accept: Accept; readonly factsOf: WalletFactsOf },
  { size, root, note }: Checkpoint,
  walletId: string,
): Promise<Accepted> {
  const facts = await ctx.factsOf(walletId)
  if (facts === null) throw new NotFound('wallet', 'wallet_not_found', `The wallet ${walletId} does not exist.`)
  const { tenantId, environment, address } = withAddress(facts)
  const calldata = Buffer.from(note, 'utf8')
  const { dataByte } = await ctx.gasRules(facts.chainId)
  const metadata = {
    tenantId,
    actor: 'operator',
    idempotency: { key: `bursar-audit-anchor:${size}:${walletId}`, fingerprint: root.toString('hex') },
  }
  const call = {
    owner: { tenantId, environment },
    walletId,
    kind: 'CheckpointAnchorRequested',
    to: address,
    data: `0x${calldata.toString('hex')}`,
    gasLimit: INTRINSIC_GAS + dataByte * BigInt(calldata.length),
    subject: { type: 'checkpoint', id: String(size) },
  } as const
  return ctx.accept(metadata, async (append) => {
    const { transactionId: id, decision, guards, explain } = await prepareCall(ctx, call, metadata)
    return append({ id, commit: { decisions: [decision], guards }, explain, made: null })
  })
}
