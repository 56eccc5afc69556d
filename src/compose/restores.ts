/**
 * The watch for restores of the database, for signers and for the operator command that does their work; and whether a
 * signer may start.
 */
import { Conflict, Unavailable } from '../core/errors.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { createWatchRestores, type FindMissing, type WatchRestores } from '../restores/watch-restores.ts'
import { CAPABILITIES } from './capabilities.ts'
import type { Kernel } from './kernel.ts'

export function composeWatchRestores({
  config,
  pool,
  log,
  logger,
}: Pick<Kernel, 'config' | 'pool' | 'log' | 'logger'>): WatchRestores {
  return createWatchRestores({
    pool,
    log,
    findMissing: findMissing(outsideStates({ config, pool })),
    onDetected: ({ evidence, systemIdentifier, timeline }) =>
      logger.error(
        { evidence, system_identifier: systemIdentifier, timeline },
        'the database went back to an earlier state, or may have; see docs/operations.md, "Backup, restore, failover"',
      ),
  })
}

/**
 * Checked at the start of a signer. An unavailable database does not fail it: lanes check again before they sign.
 *
 * @throws Conflict `log_too_short`; what it found is recorded then. Conflict `checkpoints_of_another_log`; nothing is
 */
export async function requireWholeLog(restores: WatchRestores): Promise<void> {
  const refusal = await restores.refusal('start').catch((error: unknown) => {
    if (!isConnectionFailure(error) && !(error instanceof Unavailable)) throw error
    return null
  })
  if (refusal !== null) throw new Conflict('log_too_short', `The signer does not start: ${refusal}.`)
}

/** Warns where a restore of the database would not be noticed. */
export async function warnOfMissingFile({
  config,
  pool,
  logger,
}: Pick<Kernel, 'config' | 'pool' | 'logger'>): Promise<void> {
  for (const { problem } of outsideStates({ config, pool })) {
    const found = await problem()
    if (found !== null) logger.warn({ path: found.path }, found.message)
  }
}

function outsideStates(ctx: Pick<Kernel, 'config' | 'pool'>) {
  return CAPABILITIES.flatMap(({ outsideStates }) => outsideStates?.(ctx) ?? [])
}

/** The first that one of them finds. Without any, only the identity of the database shows a restore. */
function findMissing(states: ReturnType<typeof outsideStates>): FindMissing {
  return async (epoch) => {
    for (const state of states) {
      const missing = await state.findMissing(epoch)
      if (missing !== null) return missing
    }
    return null
  }
}
