/**
 * The check of a party before it signs: whether the log, read through its own connection, contains exactly the request.
 */
import { notHeld } from '../event-log/aggregate.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
import { requireSound } from '../event-log/load-checked.ts'
import { type Coverage, notCovered } from '../keys/coverage.ts'
import type { AskedSignature } from '../keys/mpc/party-sign.ts'
import type { SigningJournal } from '../keys/mpc/signing-journal.ts'
import { coversVoucher } from '../nft/tokens/covers.ts'
import { mintAggregate } from '../nft/tokens/mint-aggregate.ts'
import type { VoucherProblem } from '../nft/tokens/sign-voucher.ts'
import type { LogClock } from '../policies/log-clock.ts'
import { signatureAggregate } from '../signatures/aggregate.ts'
import { coversSignature } from '../signatures/covers.ts'
import type { SignatureProblem } from '../signatures/sign-recorded.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import type { CheckRecorded } from '../transactions/check-recorded.ts'
import { coversTransaction } from '../transactions/covers.ts'
import { newestAttempt, type TransactionState } from '../transactions/state.ts'
import type { TagKeys } from '../transactions/tags.ts'
import { createSigningWalletOf, type SigningWallet, type SigningWalletOf } from '../wallets/signing-wallet.ts'
import { WalletUnfit } from '../wallets/wallet-facts.ts'
import { composeCheckRecorded } from './check-recorded.ts'
import { composeCheckRequests } from './check-requests.ts'
import type { Kernel } from './kernel.ts'
import { isGap, isNear, type NonceContext } from './nonce-window.ts'
import { signatureProblem, voucherProblem } from './policy-problems.ts'
import { composeRecordedWallets } from './recorded-wallets.ts'

/** Transactions that failed or were cancelled before a signature was recorded. */
export async function endedUnsigned(
  { log }: Pick<Kernel, 'log'>,
  transactionIds: readonly string[],
): Promise<readonly string[]> {
  const loaded = notHeld(await log.loadMany(transactionAggregate, [...new Set(transactionIds)]))
  return loaded.flatMap(({ id, state }) => {
    if (state.state === 'unknown') return []
    const unsigned = state.attempts.length === 0 && state.abandoned.length === 0
    return unsigned && (state.state === 'failed' || state.state === 'cancelled') ? [id] : []
  })
}

/** Transactions that are in a block and moved nothing but their fee. */
export async function revertedOf(
  { log }: Pick<Kernel, 'log'>,
  transactionIds: readonly string[],
): Promise<readonly string[]> {
  const loaded = notHeld(await log.loadMany(transactionAggregate, transactionIds))
  return loaded.flatMap(({ id, state }) =>
    state.state === 'reverted' || (state.state === 'cancelled' && state.inclusion !== null) ? [id] : [],
  )
}

/** Transactions without events in the log: they were signed, then the database was restored to an earlier state. */
export async function unknownOf(
  { log }: Pick<Kernel, 'log'>,
  transactionIds: readonly string[],
): Promise<readonly string[]> {
  const loaded = notHeld(await log.loadMany(transactionAggregate, [...new Set(transactionIds)]))
  return loaded.flatMap(({ id, state }) => (state.state === 'unknown' ? [id] : []))
}

type CoverageContext = NonceContext & {
  readonly walletOf: SigningWalletOf
  readonly check: CheckRecorded
  /** What the policy of the log says. */
  readonly problems: { readonly signature: SignatureProblem; readonly voucher: VoucherProblem }
}

/** Made once: the wallets that were read are remembered. @param journal of this party */
export function coverageContext(
  kernel: Kernel,
  journal: Pick<SigningJournal, 'highestOf'>,
  { keys, times }: { readonly keys: TagKeys; readonly times: LogClock },
): CoverageContext {
  const walletOf = createSigningWalletOf(composeRecordedWallets(kernel))
  const checkRequests = composeCheckRequests(kernel, {
    ...{ counts: false, times },
    onMismatches: (requests) => kernel.metrics.count('bursar_policy_mismatches_total', {}, requests),
  })
  return {
    log: kernel.log,
    pool: kernel.pool,
    chains: kernel.chains,
    journal,
    walletOf,
    check: composeCheckRecorded(kernel, walletOf, keys, checkRequests),
    problems: { signature: signatureProblem(checkRequests), voucher: voucherProblem(checkRequests) },
    keys,
  }
}

/** Whether the log contains exactly these requests, in order. @throws Unavailable when the log cannot be read */
export async function coverageOf(ctx: CoverageContext, asked: readonly AskedSignature[]): Promise<readonly Coverage[]> {
  const inTransactions = asked.filter(({ intent }) => intent.kind === 'transaction')
  const verdicts = new Map<AskedSignature, Coverage>()
  const of = inTransactions.length === 0 ? [] : await coverTransactions(ctx, inTransactions)
  for (const [index, item] of inTransactions.entries())
    verdicts.set(item, of[index] ?? notCovered('it was not checked'))
  await Promise.all(
    asked.map(async (item) => {
      if (item.intent.kind === 'voucher') verdicts.set(item, await coverVoucher(ctx, item).catch(unlessBroken))
      if (item.intent.kind === 'signature') verdicts.set(item, await coverSignature(ctx, item).catch(unlessBroken))
    }),
  )
  return asked.map((item) => verdicts.get(item) ?? notCovered('the kind of the request is unknown'))
}

async function coverVoucher(
  { log, walletOf, problems }: CoverageContext,
  { intent, subject, keyId }: AskedSignature,
): Promise<Coverage> {
  const { state, opened } = requireSound(await log.loadChecked(mintAggregate, [intent.id]))
  if (subject.kind !== 'typed_data') return notCovered('the request is for a voucher')
  if (state.state === 'unknown' || state.voucher === null || opened === null)
    return notCovered('the log does not have this voucher')
  const { voucher: terms, mint } = state
  const wallet = await walletOf(terms.walletId)
  if (!isKeyOf(wallet, keyId)) return notCovered('the key does not belong to the wallet that owns the contract')
  if (wallet.tenantId !== mint.tenantId) return notCovered('the wallet and the mint belong to different tenants')
  const problem = await problems.voucher({ ...opened, id: intent.id, mint, voucher: terms }, wallet)
  if (problem !== null) return notCovered(problem)
  return coversVoucher(state, { walletId: terms.walletId, typedData: subject.typedData })
}

async function coverSignature(
  { log, walletOf, problems }: CoverageContext,
  { intent, subject, address, keyId }: AskedSignature,
): Promise<Coverage> {
  const { state, opened } = requireSound(await log.loadChecked(signatureAggregate, [intent.id]))
  if (subject.kind === 'transaction') return notCovered('the request is for a message or typed data')
  if (state.type === 'unknown' || opened === null) return notCovered('the log does not have this signature')
  const wallet = await walletOf(state.wish.walletId)
  if (!isKeyOf(wallet, keyId)) return notCovered('the key does not belong to the wallet of the request')
  if (wallet.tenantId !== state.wish.tenantId)
    return notCovered('the wallet and the request belong to different tenants')
  const problem = await problems.signature({ id: intent.id, opened, state })
  if (problem !== null) return notCovered(problem)
  return coversSignature(
    state,
    subject.kind === 'message'
      ? { address, type: 'message', message: subject.message }
      : { address, type: 'typed_data', typedData: subject.typedData },
  )
}

/** An edited stream covers nothing, and does not affect others. */
function unlessBroken(error: unknown): Coverage {
  if (error instanceof BrokenChain || error instanceof WalletUnfit) return notCovered(error.message)
  throw error
}

function isKeyOf({ key }: SigningWallet, keyId: string): boolean {
  return key.kind === 'mpc' && key.keyId === keyId
}

/** Of the first signature: later ones spend nothing more but the fee, which the cap of the chain bounds. */
function withLimits(verdict: Coverage, state: TransactionState): Coverage {
  if (!verdict.covered || state.state === 'unknown' || newestAttempt(state) !== null) return verdict
  const limits = state.intent.reservations?.filter(({ rule, mustFit }) => rule !== undefined && mustFit !== false) ?? []
  return limits.length === 0 ? verdict : { ...verdict, limits }
}

async function coverTransactions(ctx: CoverageContext, asked: readonly AskedSignature[]): Promise<readonly Coverage[]> {
  const { log, chains, check, keys } = ctx
  const checked = new Map((await check(asked.map(({ intent }) => intent.id))).map((each) => [each.loaded.id, each]))
  const dependencies = await dependenciesOf(
    ctx,
    [...checked.values()].map(({ loaded }) => loaded.state),
  )
  return Promise.all(
    asked.map(async ({ intent, subject, address, keyId, signedNonces }): Promise<Coverage> => {
      const found = checked.get(intent.id)
      if (subject.kind !== 'transaction' || found === undefined) return notCovered('the request is for a transaction')
      if (found.problem !== null) return notCovered(found.problem)
      if (!isKeyOf(found.wallet, keyId)) return notCovered('the key does not belong to the wallet that pays')
      const { state } = found.loaded
      const { transaction } = subject
      const chain = chains.byChainId(transaction.chainId)
      if (chain === undefined) return notCovered('the chain is not configured')
      const dependsOn = state.state === 'unknown' ? null : state.intent.dependsOn
      const facts = {
        maxFeePerGasCap: chain.settings.maxFeePerGasWei,
        dependency: dependsOn ? (dependencies.get(dependsOn) ?? null) : null,
        signedNonces,
        keys,
        now: log.now(),
      }
      const verdict = coversTransaction({ id: intent.id, state }, { address, transaction }, facts)
      if (!verdict.covered) return verdict
      const lane = { chainId: transaction.chainId, address }
      if (state.state !== 'unknown' && state.type === 'NONCE_FILL')
        return (await isGap(ctx, lane, transaction.nonce))
          ? { covered: true, isFiller: true }
          : notCovered('the nonce is not a gap: nothing with a higher one is signed')
      if (await isNear(ctx, lane, transaction.nonce)) return withLimits(verdict, state)
      return notCovered(
        'the nonce is far above the highest nonce of the address in the log, in the journal of this party and on the chain',
      )
    }),
  )
}

async function dependenciesOf(
  { log }: CoverageContext,
  states: readonly TransactionState[],
): Promise<ReadonlyMap<string, TransactionState>> {
  const named = new Set(states.flatMap((state) => (state.state === 'unknown' ? [] : (state.intent.dependsOn ?? []))))
  if (named.size === 0) return new Map()
  const loaded = await log.loadChecked(transactionAggregate, [...named])
  return new Map(loaded.flatMap(({ id, state, broken }) => (broken === null ? [[id, state]] : [])))
}
