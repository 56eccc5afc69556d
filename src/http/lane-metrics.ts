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
    help: 'Looks at lanes that may not sign, because nodes show more of them than the log knows.',
    labelNames,
    registers,
  })
  const recovered = new Counter({
    name: 'bursar_recovered_total',
    help: 'Signed transactions that the log had forgotten and that were found on chain.',
    labelNames,
    registers,
  })
  return { countHeldLane: (network) => held.inc({ network }), countRecovered: (network) => recovered.inc({ network }) }
}
