/** Counts lanes whose log knows less than their chain. */
import { Counter, type Registry } from 'prom-client'

export type LaneMetrics = {
  /** One check of a lane that must not sign because nodes show transactions that the log does not have. */
  readonly countHeldLane: (network: string) => void
  /** One signed transaction that was missing in the log and found on chain. */
  readonly countRecovered: (network: string) => void
}

export function createLaneMetrics(registry: Registry): LaneMetrics {
  const registers = [registry]
  const labelNames = ['network'] as const
  const held = new Counter({
    name: 'bursar_lane_held_total',
    help: 'Checks that found a lane held, because the chain has transactions that the event log does not have.',
    labelNames,
    registers,
  })
  const recovered = new Counter({
    name: 'bursar_recovered_total',
    help: 'Signed transactions that were missing in the event log and were found on chain.',
    labelNames,
    registers,
  })
  return { countHeldLane: (network) => held.inc({ network }), countRecovered: (network) => recovered.inc({ network }) }
}
