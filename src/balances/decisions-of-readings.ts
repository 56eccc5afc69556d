/** Decides what to record of chain readings, for many wallets at once. */
import type { Metadata } from '../core/messages.ts'
import { type Decision, decideOn } from '../event-log/aggregate.ts'
import { balanceAggregate } from './aggregate.ts'
import type { BalanceCommand } from './decider.ts'
import type { ObservationCause } from './events.ts'
import type { LoadBalances } from './load-balances.ts'
import type { Reading } from './read-holdings.ts'

type ObservationContext = {
  readonly load: LoadBalances
  readonly cause: ObservationCause
  readonly now: string
  /** The worker that writes. */
  readonly actor: string
}

/**
 * Decisions for the readings that are news; at most one reading for each wallet and asset. Corrections of observations
 * from orphaned blocks come first; a reading that no longer needs a correction is judged like any other.
 */
export async function decisionsOfReadings(
  readings: readonly Reading[],
  context: ObservationContext,
): Promise<Decision[]> {
  const byWallet = groupByWallet(readings)
  const balances = await context.load([...byWallet.keys()])
  const decisions: Decision[] = []
  for (const [walletId, mine] of byWallet) {
    let loaded = balances.get(walletId)
    for (const command of commandsFor(mine, context)) {
      const recording = { metadata: metadataOf(mine, context), now: context.now }
      const decided = loaded === undefined ? null : decideOn(balanceAggregate, loaded, command, recording)
      if (decided === null) continue
      decisions.push(decided)
      loaded = decided.after
    }
  }
  return decisions
}

function groupByWallet(readings: readonly Reading[]): Map<string, Reading[]> {
  const groups = new Map<string, Reading[]>()
  for (const reading of readings) {
    const { walletId } = reading.holding
    const group = groups.get(walletId)
    if (group === undefined) groups.set(walletId, [reading])
    else group.push(reading)
  }
  return groups
}

function commandsFor(readings: readonly Reading[], { cause, now }: ObservationContext): readonly BalanceCommand[] {
  const observations = readings.map(({ observation }) => observation)
  const corrections = readings.flatMap(({ holding: { orphaned }, observation }) =>
    orphaned === null ? [] : [{ observation, orphaned }],
  )
  return [
    { type: 'RecordReorg', corrections, now },
    { type: 'RecordObservations', observations, cause, now },
  ]
}

function metadataOf([first]: readonly Reading[], { actor }: ObservationContext): Metadata {
  if (first === undefined) throw new Error('a group must have at least one reading')
  const { holding, observation } = first
  return { tenantId: holding.tenantId, actor: `worker:${actor}`, causationId: `block:${observation.blockNumber}` }
}
