/** Begins to watch an address: once per tenant and chain, and never the tenant's own address. */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { Conflict } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { decideNew } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { isAddressTaken } from './address-taken.ts'
import { walletAggregate } from './aggregate.ts'
import type { Notifications } from './events.ts'
import { findByAddress } from './find-by-address.ts'

/** The default notifications: none, with a threshold in US dollars that most owners consider large. */
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
export async function watchWallet(
  {
    log,
    accept,
    pool,
    newId,
  }: Pick<Context, 'newId' | 'pool'> & {
    readonly log: Pick<EventLog, 'now'>
    readonly accept: Accept
  },
  request: WatchRequest,
  { metadata }: { readonly metadata: Metadata },
): Promise<Accepted> {
  const notifications = { ...DEFAULT_NOTIFICATIONS, ...request.notifications }
  const watching = accept(metadata, (append) => {
    const walletId = newId('wallet')
    const now = log.now()
    const command = { type: 'StartWatch' as const, watch: { ...request, notifications, startedAt: now } }
    const decisions = [decideNew(walletAggregate, walletId, command, { metadata, now })]
    return append({ id: walletId, commit: { decisions }, made: null })
  })
  return watching.catch(async (error) => {
    throw isAddressTaken(error) ? await addressTaken(pool, metadata.tenantId, request) : error
  })
}

async function addressTaken(pool: Pool, tenantId: string, { chainId, address }: WatchRequest): Promise<Conflict> {
  const holder = await findByAddress(pool, { tenantId, chainId, address })
  const details = holder === null ? {} : { wallet_id: holder.walletId }
  return holder === null || holder.type === 'watch'
    ? new Conflict('watch_exists', 'A watch wallet with this address already exists on this network.', details)
    : new Conflict(
        'address_is_own_wallet',
        'This address belongs to one of your wallets: read the balance of that wallet.',
        details,
      )
}
