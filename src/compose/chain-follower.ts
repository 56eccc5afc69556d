/** The chain follower process: one leader for each chain processes its blocks and runs the chain's periodic tasks. */

import type { BalanceContext } from '../balances/balance-context.ts'
import { createBalanceChains } from '../balances/chain.ts'
import { observeJob } from '../balances/jobs.ts'
import { loadBalances } from '../balances/load-balances.ts'
import { refreshPrices } from '../balances/prices.ts'
import { readForRecord } from '../balances/read-holdings.ts'
import { reconcile } from '../balances/reconcile.ts'
import { retryTokens } from '../balances/retry-tokens.ts'
import { createTokenRotation } from '../balances/token-rotation.ts'
import { createUnreadTokens } from '../balances/unread-tokens.ts'
import { askReverter, traceTransaction } from '../chain/call-trace.ts'
import type { ChainClient } from '../chain/client-set.ts'
import { explainRevert, type FailedInclusion } from '../chain/explain-revert.ts'
import { createPace, type Pace } from '../chain/follow.ts'
import { createInTurn } from '../core/in-turn.ts'
import { lead } from '../event-log/lead.ts'
import type { Lease } from '../event-log/leases.ts'
import { createQuietPause } from '../event-log/quiet-pause.ts'
import { repeat } from '../event-log/repeat.ts'
import { createStallReport, createWalkedBlocks, type StallReport, type WalkedBlocks } from '../follower/cursor.ts'
import { type FollowContext, followChain } from '../follower/follow-chain.ts'
import { recoveredAddress } from '../keys/recovered-address.ts'
import { createBlockReads, hasInFlight, pruneForeignNonces } from '../transactions/block-reads.ts'
import type { ObserveContext } from '../transactions/observe-blocks.ts'
import { createResolveNonces, type ResolveNonces } from '../transactions/resolve-nonces.ts'
import { composeObservers } from './block-observers.ts'
import { KINDS } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import type { Work } from './run-process.ts'

const OBSERVATIONS_AT_ONCE = 8
/** Chainlink's feeds change rarely; a minute is recent enough. */
const PRICE_INTERVAL_MS = 60_000
const NONCE_INTERVAL_MS = 10_000
/** Records of nonces that no transaction waits for are few, and kept for days. */
const FORGET_INTERVAL_MS = 3_600_000
/**
 * The least poll interval while nothing was appended to the log for a while: deposits from outside are then observed
 * this much later. Every transaction of the service begins with an append, which ends the pause.
 */
const QUIET_POLL_MS = 5_000
const QUIET_AFTER_MS = 10_000
/** How soon a due token is tried again, ms. */
const UNREAD_INTERVAL_MS = 2_000

export async function startChainFollower(kernel: Kernel, signal: AbortSignal): Promise<Work> {
  const { config, chains, leases, logger, pool, jobs } = kernel
  const balances = composeBalances(kernel)
  const leaders = chains.all.map((chain) => {
    const { chainId, network } = chain.settings
    const pace = createPace()
    const onStall = (reason: string) => logger.warn({ network, reason }, 'the follower cannot move; will look again')
    const onError = (error: unknown) =>
      logger.warn({ err: error, network }, 'following the chain failed; will continue from the last processed block')
    return lead({ leases, leaseMs: config.leaseMs, signal, onError, name: `follow-${chainId}` }, (lease, stop) => {
      // Another process may have led since this one did: its first step ends what that one recorded.
      const stalls = createStallReport({ pool, onStall, now: () => performance.now() }, chainId)
      return followAndTend(kernel, { ...chain, pace, stalls }, balances, lease, stop).catch(async (error: unknown) => {
        // Whoever leads now says itself why it does not move.
        if (await lease.renew().catch(() => false)) await stalls.failed(error)
        throw error
      })
    })
  })
  const worker = jobs.process('observe', (data) => observeJob(balances, data), {
    concurrency: OBSERVATIONS_AT_ONCE,
  })
  return { drain: async () => void (await Promise.all([worker.close(), ...leaders])) }
}

export function composeBalances({ pool, log, chains }: Kernel): BalanceContext {
  const unread = createUnreadTokens(pool)
  return {
    pool,
    log,
    unread,
    load: (walletIds) => loadBalances({ pool, log }, walletIds),
    chainOf: createBalanceChains(chains.all),
    readForRecord: (...read) => readForRecord({ unread }, ...read),
  }
}

/** A chain with what its leader remembers of it. */
type LedChain = ChainClient & { readonly pace: Pace; readonly stalls: StallReport }

/** All tasks of a chain end together: when one fails, the leader starts all of them again. */
async function followAndTend(
  kernel: Kernel,
  chain: LedChain,
  balances: BalanceContext,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const { config, pool, logger } = kernel
  const { settings, client } = chain
  const { chainId, network } = settings
  const walked = createWalkedBlocks(pool)
  const transactions = composeTransactions(kernel)
  const turns = createInTurn()
  const inTurn = <Result>(task: () => Promise<Result>) => turns('blocks', task)
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  const reconciling = { ...balances, rotation: createTokenRotation(kernel) }
  const walkedHash = walked.hash
  const resolve = createResolveNonces({ ...transactions, inTurn, client, settings, walkedHash, logger })
  const tend = (name: string, intervalMs: number, task: () => Promise<unknown>) =>
    repeat(task, {
      intervalMs,
      signal: both,
      onError: (error) => logger.warn({ err: error, network, task: name }, 'periodic task failed; will run again'),
    })
  const tending = [
    tend('prices', PRICE_INTERVAL_MS, () => refreshPrices(kernel, chain)),
    tend('reconciliation', config.reconcileIntervalMs, () => reconcile(reconciling, chainId, { signal: both })),
    tend('unread tokens', UNREAD_INTERVAL_MS, async () => {
      const { settled, failed } = await retryTokens(balances, chainId, { signal: both })
      if (settled.length > 0) logger.info({ network, tokens: settled }, 'token contracts can be read again')
      if (failed.length > 0) logger.warn({ network, tokens: failed }, 'cannot read token contracts; will retry')
    }),
    tend('nonces', NONCE_INTERVAL_MS, () => lookForLostNonces(kernel, chain, lease, resolve)),
    tend('old nonces', FORGET_INTERVAL_MS, async () =>
      pruneForeignNonces(pool, chainId, (await walked.cursor(chainId))?.number ?? 0),
    ),
  ]
  try {
    await walk(kernel, chain, { balances, transactions, inTurn }, lease, both)
  } finally {
    stop.abort()
    await Promise.all(tending)
  }
}

/** Processes the blocks of a chain, and records what follows from them, until the signal aborts. */
export async function walk(
  kernel: Kernel,
  chain: LedChain,
  observing: Pick<FollowContext, 'inTurn'> & {
    readonly balances: BalanceContext
    readonly transactions: ObserveContext
  },
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const { log, pool, wakeUps } = kernel
  const { settings, client, pace, stalls } = chain
  const { inTurn, balances, transactions } = observing
  const walked = createWalkedBlocks(pool)
  const observers = composeObservers(kernel, chain, balances, transactions)
  const { pause: pauseBetween, stop: stopPausing } = createQuietPause(wakeUps, {
    intervalMs: settings.pollIntervalMs,
    quietIntervalMs: QUIET_POLL_MS,
    quietAfterMs: QUIET_AFTER_MS,
  })
  const walking = { recover: recoveredAddress, walked, inTurn, log, client, pace, settings, pauseBetween, stalls }
  try {
    await followChain({ ...walking, ...observers }, lease, signal)
  } finally {
    stopPausing()
  }
}

async function lookForLostNonces(
  kernel: Kernel,
  chain: ChainClient,
  lease: Lease,
  resolve: ResolveNonces,
): Promise<void> {
  const { pool, config, logger } = kernel
  const { chainId, network } = chain.settings
  if (!(await hasInFlight(pool, chainId))) return
  const finalized = await finalizedOf(createWalkedBlocks(pool), chain.settings)
  if (finalized === null) return
  const { lost, found } = await resolve(finalized, config.rebroadcastAfterMs, lease)
  if (lost > 0)
    logger.warn(
      { network, transactions: lost },
      'another program used nonces of our wallets; the affected transactions get new nonces',
    )
  if (found > 0)
    logger.warn(
      { network, transactions: found },
      'found mined transactions in blocks that the follower did not process',
    )
}

/** The newest block of which a nonce is believed; `null` where none is known, so that nothing gets a new nonce. */
async function finalizedOf(
  walked: Pick<WalkedBlocks, 'cursor' | 'final'>,
  { chainId, confirmations, finalizes }: ChainClient['settings'],
): Promise<number | null> {
  const deep = ((await walked.cursor(chainId))?.number ?? 0) - confirmations
  if (deep <= 0) return null
  if (finalizes !== true) return deep
  const final = await walked.final(chainId)
  return final === null ? null : Math.min(deep, final.number)
}

export function composeTransactions({ pool, log, chainOf }: Kernel): ObserveContext {
  return {
    reads: createBlockReads(pool),
    log,
    kinds: KINDS,
    revertReason: (id: number, inclusion: FailedInclusion, raw: string, errors?: readonly string[]) =>
      explainRevert(chainOf(id).foreign, inclusion, raw, errors),
    reverterOf: (id: number, hash: string, called: string) =>
      askReverter(chainOf(id).foreign, traceTransaction(hash), called),
  }
}
