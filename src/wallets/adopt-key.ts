/**
 * Gives a wallet that was opened from another one the key of that one. Runs in the signer process, as a job.
 *
 * Invariant: nothing but the log decides it: the owner of the key has it by its own streams, and names this wallet for its chain.
 */
import type { Context } from '../context.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { hdPath } from '../keys/hd-path.ts'
import { walletAggregate } from './aggregate.ts'
import type { WalletCreated } from './events.ts'
import { ownersOf } from './key-owners.ts'
import { loadRequest } from './load-request.ts'
import { factsOf, type WalletFactsOf, WalletUnfit } from './wallet-facts.ts'

/** `factsOf`: of the log, by `createRecordedWalletFacts`. */
export type AdoptKeyContext = Pick<Context, 'log'> & { readonly factsOf: WalletFactsOf }

/** @throws NotFound for an unknown wallet; BrokenChain; WalletUnfit when the owner does not name the wallet: the job is retried */
export async function adoptKey(ctx: AdoptKeyContext, walletId: string): Promise<void> {
  const { log } = ctx
  await log.commit(async () => {
    const { wallet, metadata } = await loadRequest(log, walletId)
    const { state } = wallet
    if (state.status !== 'requested' || state.openedFrom === null) return []
    const owner = await ctx.factsOf(state.openedFrom)
    if (owner?.key == null || owner.address === null)
      throw new WalletUnfit(`Wallet ${walletId} names the key of wallet ${state.openedFrom}, which has none.`)
    const { key, address } = owner
    const { problems } = await ownersOf(log, [{ ...factsOf(walletId, metadata.tenantId, state), key }])
    const problem = problems.get(walletId)
    if (problem !== undefined) throw new WalletUnfit(problem)
    const shown = (await log.load(walletAggregate, owner.walletId)).state
    const { publicKey, mpc } = shown.status === 'unknown' ? { publicKey: null, mpc: null } : shown
    const now = log.now()
    const created: WalletCreated['data'] = {
      ...{ address, key, createdAt: now, publicKey },
      derivationPath: key.kind === 'hd' ? hdPath(key.index) : null,
      threshold: mpc?.threshold ?? null,
      parties: mpc?.parties ?? null,
    }
    return [decideOn(walletAggregate, wallet, { type: 'RecordKey', created }, { metadata, now })]
  })
}
