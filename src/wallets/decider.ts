/**
 * The commands of a wallet, and when they are refused. Pure: time, created key, pending transactions and remaining
 * balances come with the command. A command that is already fulfilled produces no event.
 */
import { Conflict, NotFound, ValidationFailed } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { KeyOwner, Notifications, WalletCreated, WalletEvent, WalletRequested, WatchStarted } from './events.ts'
import { evolve, isOpenOn, type KnownWallet, type OpenedNetwork, UNKNOWN_WALLET, type WalletState } from './state.ts'

/** A remaining balance, as a decimal amount of the asset for the caller. */
export type Remainder = { readonly asset_id: string; readonly currency: string; readonly balance: string }

export type Revision = {
  readonly label?: string | undefined
  /** All of them. */
  readonly tags?: readonly string[] | undefined
  readonly notifications?: Partial<Notifications> | undefined
}

type Opening =
  | {
      readonly type: 'RequestWallet'
      readonly request: Omit<WalletRequested['data'], 'openedFrom' | 'batchId'>
      readonly tags?: readonly string[]
      /** None by default: it gets a key of its own. */
      readonly openedFrom?: KeyOwner
      /** None by default. */
      readonly batchId?: string
    }
  | { readonly type: 'StartWatch'; readonly watch: WatchStarted['data'] }

type Later =
  | { readonly type: 'RecordKey'; readonly created: WalletCreated['data'] }
  | {
      readonly type: 'OpenNetworks'
      /** Wallets with new ids, each of which the same append requests. */
      readonly networks: readonly OpenedNetwork[]
      readonly now: string
    }
  | { readonly type: 'Revise'; readonly revision: Revision; readonly now: string }
  | {
      readonly type: 'Archive'
      /** Transactions of the wallet that are not settled. */
      readonly pending: number
      /** Assets with a non-zero balance. */
      readonly remainders: readonly Remainder[]
      /** Archive although balances remain. */
      readonly force: boolean
      readonly now: string
    }
  | { readonly type: 'Restore'; readonly now: string }

export type WalletCommand = Opening | Later

export const walletDecider: Decider<WalletState, WalletCommand, WalletEvent> = {
  initialState: UNKNOWN_WALLET,
  evolve,
  decide(command, state) {
    if (command.type === 'RequestWallet' || command.type === 'StartWatch') return open(command, state)
    if (state.status === 'unknown') throw new NotFound('wallet')
    return decideKnown(command, state)
  },
}

function open(command: Opening, state: WalletState): readonly WalletEvent[] {
  if (state.status !== 'unknown') throw new Conflict('wallet_exists', 'A wallet with this id already exists.')
  if (command.type === 'StartWatch') return [{ type: 'WatchStarted', data: command.watch }]
  const { request, tags = [], openedFrom = null, batchId = null } = command
  return [
    { type: 'WalletRequested', data: { ...request, openedFrom, batchId } },
    ...tagged([], tags, request.requestedAt),
  ]
}

function decideKnown(command: Later, wallet: KnownWallet): readonly WalletEvent[] {
  switch (command.type) {
    case 'RecordKey':
      // The job ran twice, or in two signers: the first key is kept.
      if (wallet.status !== 'requested') return []
      return [{ type: 'WalletCreated', data: command.created }]
    case 'OpenNetworks':
      return openNetworks(command, wallet)
    case 'Revise':
      return revise(command.revision, command.now, wallet)
    case 'Archive':
      return archive(command, wallet)
    case 'Restore':
      return wallet.status === 'archived' ? [{ type: 'WalletRestored', data: { restoredAt: command.now } }] : []
    default:
      return assertNever(command)
  }
}

/**
 * Invariant: on each chain one wallet has the key. It may be archived: the key then has no use there until it is restored.
 * Who asks has left out the chains where the key has a wallet already.
 */
function openNetworks(
  { networks, now: openedAt }: Extract<Later, { type: 'OpenNetworks' }>,
  wallet: KnownWallet,
): readonly WalletEvent[] {
  if (wallet.type === 'watch') {
    const rule = 'A watch wallet has no key in this service: watch its address on the other networks too.'
    throw ValidationFailed.field('wallet_id', 'watch_only', rule)
  }
  if (wallet.key === null) throw notReady()
  if (wallet.openedFrom !== null) throw new Error('networks are opened from the wallet that the key belongs to')
  const taken = networks.find(
    ({ chainId, environment }, n) =>
      environment !== wallet.environment ||
      isOpenOn(wallet, chainId) ||
      networks.findIndex((other) => other.chainId === chainId) !== n,
  )
  if (taken !== undefined)
    throw new Error(`the key has a wallet on the chain ${taken.chainId}, or may not have one there`)
  return networks.map((opened) => ({ type: 'NetworkOpened', data: { ...opened, openedAt } }))
}

function notReady(): Conflict {
  return new Conflict('wallet_not_ready', 'The wallet has no key yet: try again in a moment.')
}

/** Of two sets that are the same, nothing. */
function tagged(before: readonly string[], wanted: readonly string[], taggedAt: string): readonly WalletEvent[] {
  const tags = [...new Set(wanted)].sort()
  const isSame = tags.length === before.length && tags.every((tag, n) => tag === before[n])
  return isSame ? [] : [{ type: 'WalletTagged', data: { tags, taggedAt } }]
}

function revise({ label, tags, notifications }: Revision, now: string, wallet: KnownWallet): readonly WalletEvent[] {
  if (wallet.status === 'archived') {
    throw new Conflict('wallet_archived', 'The wallet is archived: restore it before you change it.')
  }
  const events: WalletEvent[] = []
  if (label !== undefined && label !== wallet.label) {
    events.push({ type: 'WalletRelabelled', data: { label, relabelledAt: now } })
  }
  if (tags !== undefined) events.push(...tagged(wallet.tags, tags, now))
  if (notifications !== undefined) {
    if (wallet.notifications === null) {
      const rule = 'Only watch wallets have notifications: omit this field.'
      throw ValidationFailed.field('notifications', 'watch_wallets_only', rule)
    }
    const wanted = { ...wallet.notifications, ...notifications }
    if (!sameNotifications(wanted, wallet.notifications)) {
      events.push({ type: 'NotificationsChanged', data: { notifications: wanted, changedAt: now } })
    }
  }
  return events
}

function sameNotifications(a: Notifications, b: Notifications): boolean {
  return (
    a.largeTransfers === b.largeTransfers &&
    a.incomingTransactions === b.incomingTransactions &&
    a.largeTransferThresholdUsd === b.largeTransferThresholdUsd
  )
}

function archive(command: Extract<Later, { type: 'Archive' }>, wallet: KnownWallet): readonly WalletEvent[] {
  if (wallet.status === 'archived') return []
  if (wallet.status === 'requested') {
    throw new Conflict('wallet_not_ready', 'The wallet has no address yet: try again in a moment.')
  }
  if (command.pending > 0) throw pendingTransactions(command.pending)
  // Reports an unavailable database in plain words: its driver's messages do not mention the database.
  if (wallet.type !== 'watch' && !command.force && command.remainders.length > 0) {
    throw new Conflict('wallet_has_balance', 'The wallet has a balance: move its assets first, or use force=true.', {
      balances: command.remainders,
    })
  }
  return [{ type: 'WalletArchived', data: { archivedAt: command.now } }]
}

/** @param count of transactions; `null` when it is only known that there are some */
export function pendingTransactions(count: number | null): Conflict {
  return new Conflict(
    'wallet_has_pending_transactions',
    'The wallet has pending transactions: wait until they are final, or cancel them.',
    count === null ? {} : { pending: count },
  )
}
