/**
 * The check of a party before it signs: whether the log, read through its own connection, contains exactly the request.
 */
import { notHeld } from '../event-log/aggregate.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
import { type Coverage, notCovered } from '../keys/coverage.ts'
import type { AskedSignature } from '../keys/mpc/party-sign.ts'
import type { SigningJournal } from '../keys/mpc/signing-journal.ts'
import type { CheckRequests } from '../policies/check-requests.ts'
import type { LogClock } from '../policies/log-clock.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import type { CheckRecorded } from '../transactions/check-recorded.ts'
import { coversTransaction } from '../transactions/covers.ts'
import { newestAttempt, type TransactionState } from '../transactions/state.ts'
import type { TagKeys } from '../transactions/tags.ts'
import { createSigningWalletOf, isJointKeyOf, type SigningWalletOf } from '../wallets/signing-wallet.ts'
import { WalletUnfit } from '../wallets/wallet-facts.ts'
import { COVERS } from './capabilities.ts'
import { composeCheckRecorded } from './check-recorded.ts'
import { composeCheckRequests } from './check-requests.ts'
import type { Kernel } from './kernel.ts'
import { isGap, isNear, type NonceContext } from './nonce-window.ts'
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
  readonly requests: CheckRequests
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
    requests: checkRequests,
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
  const needs = { log: ctx.log, walletOf: ctx.walletOf, check: ctx.requests }
  await Promise.all(
    asked.map(async (item) => {
      const { kind } = item.intent
      const covers = Object.hasOwn(COVERS, kind) ? COVERS[kind] : undefined
      if (covers !== undefined && kind !== 'transaction')
        verdicts.set(item, await covers(needs, item).catch(unlessBroken))
    }),
  )
  return asked.map((item) => verdicts.get(item) ?? notCovered('the kind of the request is unknown'))
}

/** An edited stream covers nothing, and does not affect others. */
function unlessBroken(error: unknown): Coverage {
  if (error instanceof BrokenChain || error instanceof WalletUnfit) return notCovered(error.message)
  throw error
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
      if (!isJointKeyOf(found.wallet, keyId)) return notCovered('the key does not belong to the wallet that pays')
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
