/** Wallets that wait for their keys, for the worker that creates them. */
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { type Loaded, notHeld } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { EVENTS } from '../event-log/sql.ts'
import type { Row } from '../event-log/table-rows.ts'
import { walletAggregate } from './aggregate.ts'
import type { WalletEvent } from './events.ts'
import type { WalletState } from './state.ts'

export type LoadedRequest = {
  readonly wallet: Loaded<WalletState>
  /** The metadata of the worker's events: the tenant, and the original request. */
  readonly metadata: Metadata
}

/** @throws NotFound for an unknown wallet */
export async function loadRequest(log: Pick<EventLog, 'readStream'>, walletId: string): Promise<LoadedRequest> {
  const events = await log.readStream<WalletEvent>(walletAggregate, walletId)
  const [first] = events
  const last = events.at(-1)
  if (first === undefined || last === undefined) throw new NotFound('wallet')
  return {
    wallet: {
      id: walletId,
      state: events.reduce(walletAggregate.evolve, walletAggregate.initialState),
      version: last.streamVersion,
      hash: last.hash,
    },
    metadata: metadataOf(walletId, first.metadata),
  }
}

/** As `loadRequest`, of many wallets in two statements; unknown ones, and those with an event that cannot be read, are left out. */
export async function loadRequests(
  { pool, log }: Pick<Context, 'pool'> & { readonly log: Pick<EventLog, 'loadMany'> },
  walletIds: readonly string[],
): Promise<LoadedRequest[]> {
  const streamOf = (id: string) => `${walletAggregate.category}-${id}`
  const [loaded, { rows }] = await Promise.all([
    log.loadMany(walletAggregate, walletIds),
    pool.query<Pick<Row<'events', { readonly metadata: Metadata }>, 'stream_id' | 'metadata'>>({
      name: 'wallet_requests',
      text: `SELECT e.stream_id, e.metadata FROM unnest($1::text[]) AS wanted(id) JOIN ${EVENTS} AS e
                 ON e.stream_id = wanted.id AND e.stream_version = 1`,
      values: [walletIds.map(streamOf)],
    }),
  ])
  const requests = new Map(rows.map(({ stream_id, metadata }) => [stream_id, metadata]))
  return notHeld(loaded).flatMap((wallet) => {
    const request = requests.get(streamOf(wallet.id))
    return request === undefined ? [] : [{ wallet, metadata: metadataOf(wallet.id, request) }]
  })
}

function metadataOf(walletId: string, { tenantId, correlationId, traceparent }: Metadata): Metadata {
  return {
    tenantId,
    actor: 'worker:signer',
    ...(correlationId === undefined ? {} : { correlationId }),
    causationId: walletId,
    ...(traceparent === undefined ? {} : { traceparent }),
  }
}
