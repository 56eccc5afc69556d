/** Begins to watch an address: an address is watched once per tenant and chain, and never when it is the tenant's own. */
import type { Pool } from 'pg'
import { Conflict } from '../core/errors.ts'
import type { NewId } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import { change } from '../event-log/aggregate.ts'
import { appendOnce, type Opened } from '../event-log/append-once.ts'
import { UniqueRuleBroken } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Notifications } from './events.ts'
import { findByAddress } from './find-by-address.ts'
import { walletAggregate } from './projection.ts'

/** What a watch tells of unless its owner says otherwise: nothing, and US dollars that most owners call large. */
const DEFAULT_NOTIFICATIONS: Notifications = {
  largeTransfers: false,
  incomingTransactions: false,
  largeTransferThresholdUsd: '10000',
}

export type WatchRequest = {
  /** EIP-55. */
  readonly address: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly label: string
  readonly notifications: Partial<Notifications>
}

/** @throws Conflict `watch_exists` or `address_is_own_wallet`, naming the wallet; IdempotencyKeyReused */
export type WatchWallet = (request: WatchRequest, context: { readonly metadata: Metadata }) => Promise<Opened>

export function createWatchWallet(ports: {
  readonly log: EventLog
  readonly pool: Pool
  readonly newId: NewId
}): WatchWallet {
  const { log, pool, newId } = ports
  return async (request, { metadata }) => {
    const walletId = newId('wallet')
    const now = log.now()
    const unknown = { id: walletId, state: walletAggregate.initialState, version: 0, hash: '' }
    const notifications = { ...DEFAULT_NOTIFICATIONS, ...request.notifications }
    const command = { type: 'StartWatch' as const, watch: { ...request, notifications, startedAt: now } }
    const started = change(walletAggregate, unknown, command, { metadata, now })
    const changes = started === null ? [] : [started]
    try {
      return await appendOnce(log, { changes }, { resourceId: walletId, metadata })
    } catch (error) {
      if (error instanceof UniqueRuleBroken && error.constraint === 'wallets_address_once') {
        throw await addressTaken(pool, metadata.tenantId, request)
      }
      throw error
    }
  }
}

async function addressTaken(pool: Pool, tenantId: string, { chainId, address }: WatchRequest): Promise<Conflict> {
  const holder = await findByAddress(pool, { tenantId, chainId, address })
  const details = holder === null ? {} : { wallet_id: holder.walletId }
  return holder === null || holder.type === 'watch'
    ? new Conflict('watch_exists', 'This address is watched on this network already.', details)
    : new Conflict(
        'address_is_own_wallet',
        'This address belongs to a wallet of yours: its balance shows there.',
        details,
      )
}
