/**
 * The state of a wallet: the fold of its events. `evolve` accepts every known event in every state. Of two events that
 * open the wallet, that give it its key, or that open its address on a chain, the first counts: nothing changes the key of a
 * wallet, or which wallet has a key on a chain.
 */
import type { Environment, Network } from '../core/networks.ts'
import { assertNever } from '../core/never.ts'
import type { MpcTerms, Notifications, Place, WalletEvent, WalletKey, WalletType } from './events.ts'

export const WALLET_STATUSES = ['requested', 'active', 'archived'] as const
export type WalletStatus = (typeof WALLET_STATUSES)[number]

/** A wallet that uses the same key on another chain. */
export type OpenedNetwork = Place & { readonly walletId: string }

export type KnownWallet = {
  readonly status: WalletStatus
  readonly type: WalletType
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** EIP-55; `null` until a signer has created the key, except for a wallet that is opened from another. */
  readonly address: string | null
  /** The wallet that the key belongs to, if this one uses it on another chain. */
  readonly openedFrom: string | null
  /** The wallets that use the key of this one on other chains, one for each chain. */
  readonly networks: readonly OpenedNetwork[]
  /** The request that asked for it together with others. */
  readonly batchId: string | null
  readonly key: WalletKey | null
  /** Mpc wallets only. */
  readonly mpc: MpcTerms | null
  /** Mpc wallets only, once the key is created: 33 bytes, compressed, as 0x-prefixed hex. */
  readonly publicKey: string | null
  readonly label: string
  /** What rules of policies name. Sorted. */
  readonly tags: readonly string[]
  readonly externalId: string | null
  /** Watched wallets only. */
  readonly notifications: Notifications | null
  readonly createdAt: string
  readonly archivedAt: string | null
}

export type WalletState = { readonly status: 'unknown' } | KnownWallet

export const UNKNOWN_WALLET: WalletState = { status: 'unknown' }

export function evolve(before: WalletState, event: WalletEvent): WalletState {
  if (event.type === 'WalletRequested') {
    if (before.status !== 'unknown') return before
    const { requestedAt, openedFrom, ...request } = event.data
    return {
      ...request,
      status: 'requested',
      address: openedFrom?.address ?? null,
      openedFrom: openedFrom?.walletId ?? null,
      networks: [],
      key: null,
      publicKey: null,
      tags: [],
      notifications: null,
      createdAt: requestedAt,
      archivedAt: null,
    }
  }
  if (event.type === 'WatchStarted') {
    if (before.status !== 'unknown') return before
    const { startedAt, ...watch } = event.data
    return {
      ...watch,
      status: 'active',
      type: 'watch',
      openedFrom: null,
      networks: [],
      batchId: null,
      key: null,
      mpc: null,
      publicKey: null,
      tags: [],
      externalId: null,
      createdAt: startedAt,
      archivedAt: null,
    }
  }
  return before.status === 'unknown' ? before : evolveKnown(before, event)
}

type LaterEvent = Exclude<WalletEvent, { type: 'WalletRequested' | 'WatchStarted' }>

function evolveKnown(before: KnownWallet, event: LaterEvent): KnownWallet {
  switch (event.type) {
    case 'WalletCreated': {
      if (before.status !== 'requested') return before
      const { address, key, publicKey } = event.data
      return { ...before, status: 'active', address, key, publicKey }
    }
    case 'NetworkOpened': {
      const { openedAt: _, ...opened } = event.data
      return isOpenOn(before, opened.chainId) ? before : { ...before, networks: [...before.networks, opened] }
    }
    case 'WalletRelabelled':
      return { ...before, label: event.data.label }
    case 'WalletTagged':
      return { ...before, tags: event.data.tags }
    case 'NotificationsChanged':
      return { ...before, notifications: event.data.notifications }
    case 'WalletArchived':
      return { ...before, status: 'archived', archivedAt: event.data.archivedAt }
    case 'WalletRestored':
      return { ...before, status: 'active', archivedAt: null }
    default:
      return assertNever(event)
  }
}

/** Whether a wallet has the key of this one on a chain: this one, or one that was opened from it. */
export function isOpenOn({ chainId: own, networks }: KnownWallet, chainId: number): boolean {
  return own === chainId || networks.some((opened) => opened.chainId === chainId)
}
