/**
 * The state of a joint key: the fold of its events. `evolve` accepts every known event in every state. Of two events that
 * create the key, or that assign it to a wallet, the first counts: a key belongs to one wallet permanently.
 */
import { assertNever } from '../core/never.ts'
import type { MpcKeyEvent, RefreshReason } from './events.ts'

export const REFRESH_STATUSES = ['pending', 'refreshed', 'failed'] as const

export type Refresh = {
  readonly refreshId: string
  readonly reason: RefreshReason
  /** The party whose share is repaired; `null` unless the reason is recovery. */
  readonly party: number | null
  readonly status: (typeof REFRESH_STATUSES)[number]
  /** The epoch after the refresh; while it is open or if it failed, the epoch before it. */
  readonly epoch: number
  readonly failure: { readonly code: string; readonly message: string } | null
  readonly requestedAt: string
  readonly endedAt: string | null
}

/** One party's accusation of another. */
export type Accusation = { readonly party: number; readonly accusedBy: number }

export type KnownMpcKey = {
  readonly status: 'pooled' | 'assigned'
  readonly publicKey: string
  readonly address: string
  readonly threshold: number
  readonly parties: readonly number[]
  readonly wallet: { readonly walletId: string; readonly tenantId: string } | null
  readonly epoch: number
  /** The attempt that prepared the shares of this epoch; `null` for epoch 0. */
  readonly attemptId: string | null
  /** When the shares in force were created. */
  readonly refreshedAt: string
  /** Ascending. */
  readonly banned: readonly number[]
  /** Of this epoch, oldest first. The parties of a pair do not sign together. */
  readonly accusations: readonly Accusation[]
  /** The newest one. */
  readonly refresh: Refresh | null
}

export type MpcKeyState = { readonly status: 'unknown' } | KnownMpcKey

export const UNKNOWN_MPC_KEY: MpcKeyState = { status: 'unknown' }

/** The unfinished refresh. */
export function openRefresh({ refresh }: KnownMpcKey): Refresh | null {
  return refresh?.status === 'pending' ? refresh : null
}

export function evolve(before: MpcKeyState, event: MpcKeyEvent): MpcKeyState {
  if (event.type === 'MpcKeyGenerated') {
    if (before.status !== 'unknown') return before
    const { generatedAt, ...key } = event.data
    return {
      ...key,
      status: 'pooled',
      wallet: null,
      epoch: 0,
      attemptId: null,
      refreshedAt: generatedAt,
      banned: [],
      accusations: [],
      refresh: null,
    }
  }
  return before.status === 'unknown' ? before : evolveKnown(before, event)
}

function evolveKnown(before: KnownMpcKey, event: Exclude<MpcKeyEvent, { type: 'MpcKeyGenerated' }>): KnownMpcKey {
  switch (event.type) {
    case 'MpcKeyAssigned': {
      if (before.wallet !== null) return before
      const { walletId, tenantId } = event.data
      return { ...before, status: 'assigned', wallet: { walletId, tenantId } }
    }
    case 'MpcSharesRefreshRequested':
      return {
        ...before,
        refresh: { ...event.data, status: 'pending', epoch: before.epoch, failure: null, endedAt: null },
      }
    case 'MpcSharesRefreshed': {
      const { epoch, attemptId, refreshedAt } = event.data
      const refresh = ended(before.refresh, refreshedAt, { status: 'refreshed', epoch })
      return { ...before, epoch, attemptId, refreshedAt, banned: [], accusations: [], refresh }
    }
    case 'MpcSharesRefreshFailed': {
      const { code, message, failedAt } = event.data
      return { ...before, refresh: ended(before.refresh, failedAt, { status: 'failed', failure: { code, message } }) }
    }
    case 'MpcPartyAccused': {
      const { party, accusedBy } = event.data
      return { ...before, accusations: [...before.accusations, { party, accusedBy }] }
    }
    case 'MpcPartyBanned': {
      const banned = [...new Set([...before.banned, event.data.party])].toSorted((a, b) => a - b)
      return { ...before, banned }
    }
    default:
      return assertNever(event)
  }
}

function ended(refresh: Refresh | null, endedAt: string, outcome: Partial<Refresh>): Refresh | null {
  return refresh && { ...refresh, ...outcome, endedAt }
}
