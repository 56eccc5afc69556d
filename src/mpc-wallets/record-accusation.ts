/**
 * Records that one party accuses another of failing a check, and raises the alarm. The two no longer sign together; a
 * party with enough accusers is banned. A refresh of the shares lifts both.
 */
import type { Context } from '../context.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import type { MpcKeyState } from './state.ts'

export type Accusation = {
  readonly keyId: string
  /** The epoch whose share the party used. */
  readonly epoch: number
  readonly party: number
  /** The accuser. */
  readonly accusedBy: number
  /** The failed check, as text without secrets: it is recorded. */
  readonly reason: string
}

type AccusationContext = Pick<Context, 'log'> & {
  readonly logger: { readonly error: (fields: object, message: string) => void }
  readonly metrics: Pick<Context['metrics'], 'count'>
}

/**
 * Each party accuses another once per key and epoch; a report about a past epoch changes nothing. Each accusation, and each
 * ban, is logged and counted once it is recorded. Processes that report the same in the same millisecond append the same
 * event: then each of them logs and counts it.
 *
 * @throws NotFound for an unknown key; ValidationFailed for numbers that are not two of its parties
 */
export async function recordAccusation(ctx: AccusationContext, accusation: Accusation): Promise<void> {
  const { log } = ctx
  const { keyId, ...report } = accusation
  let wasBanned = false
  const [accused] = await log.commit(async () => {
    const loaded = await log.load(mpcKeyAggregate, keyId)
    wasBanned = isBanned(loaded.state, report.party)
    const wallet = loaded.state.status === 'unknown' ? null : loaded.state.wallet
    const now = log.now()
    const metadata = { tenantId: wallet?.tenantId ?? 'system', actor: 'worker:signer' }
    return [decideOn(mpcKeyAggregate, loaded, { type: 'AccuseParty', ...report, now }, { metadata, now })]
  })
  if (accused === undefined) return
  reportRecorded(ctx, accusation, 'accused')
  if (isBanned(accused.after.state, report.party) && !wasBanned) reportRecorded(ctx, accusation, 'banned')
}

function reportRecorded(
  { logger, metrics }: AccusationContext,
  { keyId, epoch, party, accusedBy, reason }: Accusation,
  what: 'accused' | 'banned',
): void {
  const fields = { key_id: keyId, epoch, party, accused_by: accusedBy, reason }
  if (what === 'accused') {
    metrics.count('bursar_mpc_accusations_total', { party: String(party), accused_by: String(accusedBy) })
    logger.error(
      fields,
      'an mpc party reported that another party failed a check; these two no longer sign together with this key: check both, then refresh the shares',
    )
    return
  }
  metrics.count('bursar_mpc_bans_total', { party: String(party) })
  logger.error(
    fields,
    'an mpc party failed a check and is banned from signing with this key: check the party, then refresh the shares',
  )
}

function isBanned(state: MpcKeyState, party: number): boolean {
  return state.status !== 'unknown' && state.banned.includes(party)
}
