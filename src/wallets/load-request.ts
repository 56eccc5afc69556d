/** A wallet that waits for its key, for the worker that creates it. */
import { NotFound } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
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
  const { tenantId, correlationId, traceparent } = first.metadata
  return {
    wallet: {
      id: walletId,
      state: events.reduce(walletAggregate.evolve, walletAggregate.initialState),
      version: last.streamVersion,
      hash: last.hash,
    },
    metadata: {
      tenantId,
      actor: 'worker:signer',
      ...(correlationId === undefined ? {} : { correlationId }),
      causationId: walletId,
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  }
}
