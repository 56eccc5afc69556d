/**
 * Decides what to record of transactions from processed blocks. One query finds wallets' transactions by sender and nonce,
 * whatever version was mined; receipts are not polled one by one.
 */

import type { Block, ChainLogEntry } from '../chain/blocks.ts'
import type { Reverter } from '../chain/call-trace.ts'
import { parseAnyTransferLog } from '../chain/erc20.ts'
import type { Context } from '../context.ts'
import { MAX_UINT256, smallest } from '../core/money.ts'
import { type Decision, decideOn, type Loaded, notHeld, type ReadModelRow } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { sameHex } from '../keys/coverage.ts'
import { transactionAggregate } from './aggregate.ts'
import { type BlockReads, foreignNonceRows, readUsedNonces, type UsedNonce } from './block-reads.ts'
import type { TransactionCommand } from './decider.ts'
import type { Inclusion, RecordedLog, RecordedLogs } from './events.ts'
import type { Intent } from './intent.ts'
import type { EffectRule, RulesOfKinds } from './kind-rules.ts'
import { keepsLogs } from './kinds.ts'
import { outsideRows } from './outside.ts'
import { isTokenTransfer } from './refused-by-token.ts'
import type { TransactionState } from './state.ts'

/** What the effects of blocks on transactions are derived with. */
export type ObserveContext = Pick<Context, 'log'> & {
  readonly reads: BlockReads
  /** What the logs of a type must show, by the type. */
  readonly kinds: RulesOfKinds
  /** Why a mined transaction failed, decoded; reported to its owner when it is final. */
  readonly revertReason: (
    chainId: number,
    transaction: Inclusion,
    rawTransaction: string,
    errors?: readonly string[],
  ) => Promise<string>
  /** Which contract made a call revert in its block, and its reason; `null` where no node says it. */
  readonly reverterOf?: (chainId: number, hash: string, called: string) => Promise<Reverter | null>
}

/** Decisions on transactions, and the rows beside the log: nonces used by foreign transactions. */
export type ObservedTransactions = { readonly decisions: Decision[]; readonly rows: ReadModelRow[] }

/** @param looked the nonces that the blocks use, if the caller has looked them up already */
export async function observeTransactions(
  { reads, log, kinds }: ObserveContext,
  chainId: number,
  blocks: readonly Block[],
  looked: Promise<readonly UsedNonce[]> = readUsedNonces(reads, chainId, blocks),
): Promise<ObservedTransactions> {
  const used = await looked
  const included = new Map(
    used.flatMap((one) => (one.kind === 'sent' && one.ownId !== null ? [[one.ownId, one] as const] : [])),
  )
  const decisions = await commandEach(log, [...included.keys()], (loaded) => {
    const one = included.get(loaded.id)
    const { state } = loaded
    if (one === undefined || state.state === 'unknown') return null
    const { transaction } = one
    // Abandoned bytes do not count: they are not decided before their block is final (see resolve-nonces.ts).
    const attempt = state.attempts.find(({ hash }) => hash === transaction.hash)
    if (attempt === undefined) return null
    const inclusion = inclusionOf(one, log.now())
    if (attempt.purpose === 'cancel') return { type: 'RecordInclusion', inclusion }
    const shown = inclusion.succeeded
      ? {
          ...movedOf(state.intent, transaction.logs),
          ...effectOf(kinds.get(state.type)?.effect, state.intent, transaction.logs),
        }
      : {}
    const logs = keepsLogs(state.type) ? keptLogs(transaction.logs) : null
    return { type: 'RecordInclusion', inclusion: { ...inclusion, ...shown, logs } }
  })
  return { decisions, rows: [...foreignNonceRows(chainId, used), ...outsideRows(chainId, used)] }
}

function effectOf(
  rule: EffectRule | undefined,
  intent: Intent,
  logs: readonly ChainLogEntry[],
): Pick<Inclusion, 'effect'> {
  const isShown = rule?.(intent, logs) ?? null
  return isShown === null ? {} : { effect: isShown ? 'logged' : 'missing' }
}

/** The amount that the transfer moved according to the token's logs; nothing for other transactions. */
function movedOf(intent: Intent, logs: readonly ChainLogEntry[]): Pick<Inclusion, 'moved'> {
  const { from, to } = intent
  const { contract } = intent.asset
  if (contract === null || !isTokenTransfer(intent) || sameHex(from, to)) return {}
  const moves = logs.flatMap((log) => {
    const transfer = sameHex(log.address, contract) ? parseAnyTransferLog(log) : null
    return transfer !== null && sameHex(transfer.from, from) && sameHex(transfer.to, to) ? [transfer.value] : []
  })
  // Logs may contain anything: a sum above the maximum of a token would not fit into its column.
  const sum = moves.reduce((total, value) => total + value, 0n)
  return { moved: moves.length === 0 ? null : smallest(sum, MAX_UINT256) }
}

/**
 * Decisions for the transactions whose block is no longer in the chain.
 *
 * @param ancestor number of the newest block that still is
 * @param head number of the newest block of the abandoned branch
 */
export async function unwindTransactions(
  { reads, log }: ObserveContext,
  chainId: number,
  { ancestor, head }: { readonly ancestor: number; readonly head: number },
): Promise<Decision<TransactionState>[]> {
  const ids = await reads.inBlocksAbove(chainId, ancestor)
  return commandEach(log, ids, () => ({ type: 'RecordReorg', head, now: log.now() }))
}

/** Decisions for the transactions that have enough confirmations now. @param head number of the newest processed block */
export async function settleTransactions(
  ctx: ObserveContext,
  chainId: number,
  head: number,
  requiredConfirmations: number,
): Promise<Decision[]> {
  const { reads, log } = ctx
  const ids = await reads.minedUpTo(chainId, head - requiredConfirmations + 1)
  const loaded = notHeld(await log.loadMany(transactionAggregate, ids))
  const reasons = new Map(
    await Promise.all(loaded.map(async (item) => [item.id, await reasonOf(ctx, chainId, item)] as const)),
  )
  return decideEach(log, loaded, (item) => {
    if (item.state.state === 'unknown' || item.state.inclusion === null) return null
    const confirmations = head - item.state.inclusion.blockNumber + 1
    return { type: 'Settle', confirmations, revertReason: '', ...reasons.get(item.id), now: log.now() }
  })
}

type Reason = { readonly revertReason: string; readonly revertedBy?: string | null }

/** Of a kind whose tokens can imitate the called contract, it is asked who reverted. */
async function reasonOf(
  { revertReason, reverterOf, kinds }: ObserveContext,
  chainId: number,
  { state }: Loaded<TransactionState>,
): Promise<Reason | undefined> {
  if (state.state === 'unknown' || state.inclusion === null || state.inclusion.succeeded) return undefined
  const { inclusion, attempts, intent } = state
  const bytes = attempts.find(({ hash }) => hash === inclusion.hash)
  if (bytes === undefined) return undefined
  const asks = kinds.get(state.type)?.asksReverter === true
  const known = !asks ? null : await reverterOf?.(chainId, inclusion.hash, intent.to)
  if (known?.reason != null) return { revertReason: known.reason, revertedBy: known.by }
  const reason = await revertReason(chainId, inclusion, bytes.rawTransaction, intent.call?.errors)
  return { revertReason: reason, ...(asks ? { revertedBy: null } : {}) }
}

type Choose = (loaded: Loaded<TransactionState>) => TransactionCommand | null

async function commandEach(
  log: EventLog,
  ids: readonly string[],
  choose: Choose,
): Promise<Decision<TransactionState>[]> {
  return ids.length === 0 ? [] : decideEach(log, notHeld(await log.loadMany(transactionAggregate, ids)), choose)
}

/** Decides a command on each of many transactions; one that a restored database has forgotten since has none. */
export function decideEach(
  log: EventLog,
  loaded: readonly Loaded<TransactionState>[],
  choose: Choose,
): Decision<TransactionState>[] {
  return loaded.flatMap((item) => {
    const command = item.state.state === 'unknown' ? null : choose(item)
    if (command === null) return []
    const byFollower = { worker: 'chain-follower', cause: command.type, now: log.now() }
    return decideOn(transactionAggregate, item, command, byFollower) ?? []
  })
}

function inclusionOf({ block, transaction }: UsedNonce, now: string): Inclusion {
  return {
    hash: transaction.hash,
    blockNumber: block.number,
    blockHash: block.hash,
    succeeded: transaction.status === 'success',
    gasUsed: transaction.gasUsed,
    effectiveGasPrice: transaction.effectiveGasPrice,
    logs: null,
    blockTimestamp: new Date(block.timestamp * 1_000).toISOString(),
    minedAt: now,
  }
}

/** Limits of one event. A swap has about ten logs. */
const MAX_KEPT_LOGS = 64
const MAX_KEPT_LOG_BYTES = 32 * 1024

/**
 * The logs of a mined transaction that are recorded with it: the first that fit the limits, in order. A contract can emit as
 * many as its gas pays for.
 */
export function keptLogs(logs: readonly ChainLogEntry[]): RecordedLogs {
  const entries: RecordedLog[] = []
  let bytes = 0
  for (const { address, topics, data, logIndex } of logs.slice(0, MAX_KEPT_LOGS)) {
    const entry = { address, topics, data, logIndex }
    bytes += JSON.stringify(entry).length
    if (bytes > MAX_KEPT_LOG_BYTES) break
    entries.push(entry)
  }
  return { entries, cut: entries.length < logs.length }
}
