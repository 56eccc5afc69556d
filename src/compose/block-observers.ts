/**
 * What the follower of a chain derives from its blocks: transactions, balances, observed transfers, and what capabilities add.
 * The wallets of a block and the nonces that it uses are looked up once for all of them. Operators are told what reorgs undid,
 * after it is in the log: above all, outcomes that were reported to owners.
 */
import { confirmTransfers, observeTransfers, unwindTransfers } from '../activity/observe-transfers.ts'
import { blocksOfTransfers } from '../activity/transfer-reads.ts'
import type { BalanceContext } from '../balances/balance-context.ts'
import { createCurrentPrices } from '../balances/current-prices.ts'
import { createHolderReads, findTouched, type HolderReads, opened } from '../balances/holder-reads.ts'
import { observeBalances, unwindBalances } from '../balances/observe-block.ts'
import { touchedBy } from '../balances/touched.ts'
import type { BlockRef } from '../chain/blocks.ts'
import type { ChainClient } from '../chain/client-set.ts'
import type { FollowStep } from '../chain/follow.ts'
import type { Decision } from '../event-log/aggregate.ts'
import type { BlockObserver, FollowContext } from '../follower/follow-chain.ts'
import type { Metrics } from '../http/metrics.ts'
import { readUsedNonces, type UsedNonce } from '../transactions/block-reads.ts'
import {
  type ObserveContext,
  observeTransactions,
  settleTransactions,
  unwindTransactions,
} from '../transactions/observe-blocks.ts'
import type { TransactionState } from '../transactions/state.ts'
import { CAPABILITIES } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { reportUnstorable } from './report-unstorable.ts'

type Observers = Pick<FollowContext, 'observers' | 'settle' | 'recordedBlocks' | 'onStep' | 'onUnstorable'>

export function composeObservers(
  kernel: Pick<Kernel, 'pool' | 'log' | 'clock' | 'logger' | 'metrics'>,
  { settings }: Pick<ChainClient, 'settings'>,
  balances: Pick<BalanceContext, 'load' | 'chainOf' | 'readForRecord'>,
  transactions: ObserveContext,
): Observers {
  const { pool, log, clock, logger, metrics } = kernel
  const { chainId, network, confirmations } = settings
  const report = createReorgReport({ network, logger, metrics })
  const transfers = { pool, log, pricesOf: createCurrentPrices({ pool, clock }) }
  const own: BlockObserver = observeOwn({
    settings,
    transactions,
    transfers,
    balances: { reads: createHolderReads(pool), ...balances },
    report,
  })
  return {
    observers: [own, ...CAPABILITIES.flatMap(({ observe }) => observe?.({ pool, log }, chainId) ?? [])],
    settle: async (head) => [
      ...(await settleTransactions(transactions, chainId, head, confirmations)),
      ...(await confirmTransfers(transfers, chainId, head, confirmations)),
    ],
    recordedBlocks: async (upTo) =>
      newestOf(
        await Promise.all([transactions.reads.recordedBlocks(chainId, upTo), blocksOfTransfers(pool, chainId, upTo)]),
      ),
    onStep: report.committed,
    onUnstorable: reportUnstorable(kernel),
  }
}

function observeOwn({
  settings,
  transactions,
  transfers,
  balances,
  report,
}: {
  readonly settings: ChainClient['settings']
  readonly transactions: ObserveContext
  readonly transfers: Pick<Kernel, 'pool'> & Parameters<typeof observeTransfers>[0]
  readonly balances: Pick<BalanceContext, 'load' | 'chainOf' | 'readForRecord'> & { readonly reads: HolderReads }
  readonly report: Pick<ReturnType<typeof createReorgReport>, 'unwound'>
}): BlockObserver {
  const { chainId, network, environment } = settings
  const chain = { chainId, network, environment }
  const { log } = transactions
  return {
    async observe(blocks) {
      const used = readUsedNonces(transactions.reads, chainId, blocks)
      const touched = findTouched(transfers.pool, balances.chainOf(chainId), touchedBy(blocks))
      const [ofTransactions, ofBalances, ofTransfers] = await Promise.all([
        observeTransactions(transactions, chainId, blocks, used),
        observeBalances(balances, { chain, blocks, now: log.now(), touched: touched.then(opened) }),
        Promise.all([touched, used]).then(([wallets, nonces]) =>
          observeTransfers(transfers, { chain, blocks, touched: wallets, own: sentBy(nonces) }),
        ),
      ])
      return { decisions: [...ofTransactions.decisions, ...ofBalances, ...ofTransfers], rows: ofTransactions.rows }
    },
    async unwind(ancestor, head) {
      const [ofTransactions, ofBalances, ofTransfers] = await Promise.all([
        unwindTransactions(transactions, chainId, { ancestor, head }),
        unwindBalances(balances, { chain, ancestorNumber: ancestor, now: log.now() }),
        unwindTransfers(transfers, chainId, ancestor),
      ])
      report.unwound(ofTransactions)
      return [...ofTransactions, ...ofBalances, ...ofTransfers]
    },
  }
}

/** Bursar's own transactions in the blocks, by hash. */
function sentBy(used: readonly UsedNonce[]) {
  return new Map(
    used.flatMap(({ kind, ownId: id, ownAssetId: assetId, transaction }) =>
      kind === 'sent' && id !== null && assetId !== null ? [[transaction.hash, { id, assetId }] as const] : [],
    ),
  )
}

/** One page of several, newest first: no block is missing between its newest and its oldest one. */
function newestOf(pages: readonly (readonly BlockRef[])[]): BlockRef[] {
  const blocks = new Map(pages.flat().map((block) => [`${block.number} ${block.hash}`, block]))
  const oldest = Math.max(...pages.flatMap((page) => page.at(-1)?.number ?? []))
  return [...blocks.values()].filter(({ number }) => number >= oldest).sort((a, b) => b.number - a.number)
}

type ReorgReport = {
  /** Call with the decisions before they are appended, again on each retry. */
  readonly unwound: (decisions: readonly Decision<TransactionState>[]) => void
  /** Call with each step after it is in the log. */
  readonly committed: (step: FollowStep) => void
}

function createReorgReport({
  network,
  logger,
  metrics,
}: {
  readonly network: string
  readonly logger: Pick<Kernel['logger'], 'warn' | 'error'>
  readonly metrics: Pick<Metrics, 'count'>
}): ReorgReport {
  let undone: readonly Decision<TransactionState>[] = []
  return {
    unwound: (decisions) => {
      undone = decisions
    },
    committed(step) {
      if (step.type !== 'reorg') return
      const { from, to, depth, beyondWindow } = step
      const fields = { network, from, to, depth, transactions: undone.length }
      metrics.count('bursar_reorgs_total', { network, beyond_window: String(beyondWindow) })
      if (beyondWindow)
        logger.error(
          fields,
          'reorg deeper than the recorded block hashes; check the node, then the transactions that were rolled back',
        )
      else logger.warn(fields, 'reorg; rolled back the affected transactions')
      for (const { after } of undone) {
        const revoked = after.state.state === 'unknown' ? undefined : after.state.history.at(-1)?.revoked
        if (revoked === undefined) continue
        metrics.count('bursar_outcomes_revoked_total', { network, outcome: revoked.state })
        const told = { network, transaction_id: after.id, outcome: revoked.state, confirmations: revoked.confirmations }
        logger.error(told, 'reorg revoked a reported outcome: the block of the transaction is no longer in the chain')
      }
      undone = []
    },
  }
}
