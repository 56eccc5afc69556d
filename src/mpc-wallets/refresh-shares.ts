/**
 * Has the parties create the requested new shares. Runs in the signer process, as a job.
 *
 * Invariant: the append that records a refresh puts the new shares in force, and names the one attempt that prepared
 * them. However many attempts fail or run concurrently, all parties use the shares of the same attempt.
 */
import type { Context } from '../context.ts'
import { BursarError, NotFound } from '../core/errors.ts'
import type { Metadata, RecordedEvent } from '../core/messages.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Ceremonies, JointKey } from '../keys/mpc/ceremonies.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import type { MpcKeyEvent } from './events.ts'
import { toJointKey } from './joint-keys.ts'
import { openRefresh, type Refresh } from './state.ts'

/**
 * Every party takes part, so one that is down blocks the refresh: after this time it fails, and the caller can request
 * its recovery.
 */
const GIVE_UP_AFTER_MS = 5 * 60_000

/** @throws NotFound for an unknown key; Unavailable when the parties cannot do it now: the job is retried */
export async function refreshShares(
  ctx: Pick<Context, 'log' | 'newId' | 'clock'> & {
    readonly ceremonies: Pick<Ceremonies, 'prepareRefresh' | 'prepareRecovery'>
    readonly logger: { readonly error: (fields: object, message: string) => void }
  },
  keyId: string,
): Promise<void> {
  const { log } = ctx
  const found = await findOpen(log, keyId)
  if (found === null) return
  const { key, refresh, metadata } = found
  const { refreshId, reason, party } = refresh
  const attemptId = ctx.newId('refresh')
  try {
    await prepare(ctx.ceremonies, key, refresh, attemptId)
  } catch (error) {
    if (!isLast(error, refresh, ctx.clock())) throw error
    const command = { type: 'GiveUpRefresh', refreshId, ...explain(error), now: log.now() } as const
    await log.execute(mpcKeyAggregate, keyId, command, { metadata })
    ctx.logger.error(
      { err: error, key_id: keyId, refresh_id: refreshId, reason, party },
      'refresh of key shares failed; the old shares stay in use',
    )
    return
  }
  const command = { type: 'RecordRefresh', refreshId, attemptId, fromEpoch: key.epoch, now: log.now() } as const
  await log.execute(mpcKeyAggregate, keyId, command, { metadata })
}

type OpenRefresh = { readonly key: JointKey; readonly refresh: Refresh; readonly metadata: Metadata }

async function findOpen(log: EventLog, keyId: string): Promise<OpenRefresh | null> {
  const events = await log.readStream<MpcKeyEvent>(mpcKeyAggregate, keyId)
  const state = events.reduce(mpcKeyAggregate.evolve, mpcKeyAggregate.initialState)
  if (state.status === 'unknown') throw new NotFound('mpc_key')
  const refresh = openRefresh(state)
  if (refresh === null) return null
  return { key: toJointKey(keyId, state), refresh, metadata: metadataOf(events, refresh) }
}

/** The metadata of the worker's events: the owner of the key, and the original request. */
function metadataOf(events: readonly RecordedEvent<MpcKeyEvent>[], { refreshId }: Refresh): Metadata {
  const request = events.findLast(({ type }) => type === 'MpcSharesRefreshRequested')
  if (request === undefined) throw new Error('an open refresh must have been requested')
  const { tenantId, correlationId, traceparent } = request.metadata
  return {
    tenantId,
    actor: 'worker:signer',
    ...(correlationId === undefined ? {} : { correlationId }),
    causationId: refreshId,
    ...(traceparent === undefined ? {} : { traceparent }),
  }
}

function prepare(
  ceremonies: Parameters<typeof refreshShares>[0]['ceremonies'],
  key: JointKey,
  { party }: Refresh,
  refreshId: string,
): Promise<void> {
  return party === null
    ? ceremonies.prepareRefresh({ key, refreshId })
    : ceremonies.prepareRecovery({ key, party, refreshId })
}

/**
 * An error that cannot succeed later ends the refresh immediately, any other after a while: an open refresh blocks the
 * next one.
 */
function isLast(error: unknown, { requestedAt }: Refresh, nowMs: number): boolean {
  if (error instanceof BursarError && !error.retryable) return true
  return nowMs - Date.parse(requestedAt) >= GIVE_UP_AFTER_MS
}

/** Only messages meant for callers are recorded. */
function explain(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof BursarError) return { code: error.items[0]?.code ?? error.code, message: error.message }
  return { code: 'mpc_ceremony_failed', message: 'The parties could not create new shares.' }
}
