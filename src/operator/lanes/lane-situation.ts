/** What the judges of a lane share: what they know beside the lane, and how they report. */
import type { FindingKind } from '../../core/registry.ts'
import type { ChainNow } from '../chain-now.ts'
import { type NextStep, step } from '../finding.ts'
import type { Limits } from '../limits.ts'
import { bursar } from '../words.ts'
import type { LaneNow } from './lane-now.ts'

export type LaneSituation = {
  /** `null` for a chain that is no longer configured. */
  readonly chain: ChainNow | null
  readonly limits: Limits
  /** Number of live processes; `null` when the heartbeats could not be read. */
  readonly live: { readonly signer: number; readonly submitter: number } | null
  /**
   * Whether the follower is near the head of the chain; if not, mined transactions may not be recorded yet, and no lane
   * is reported for them.
   */
  readonly followed: boolean
  /**
   * Whether it has processed all but the newest blocks, so that a nonce that is used and not recorded belongs to a
   * foreign transaction.
   */
  readonly atHead: boolean
}

export type Add = (kind: FindingKind, forMs: number | null, problem: string, ...next: NextStep[]) => void

/** `ethereum 0x…`: also the arguments of `lane`. */
export function laneSubject({ lane }: Pick<LaneNow, 'lane'>, chain: Pick<ChainNow, 'name'> | null): string {
  return `${chain?.name ?? `chain-${lane.chainId}`} ${lane.address}`
}

export const look = (lane: LaneNow, { chain }: LaneSituation) =>
  step('See the lane in detail.', bursar(`lane ${laneSubject(lane, chain)}`))
export const story = (id: string) => step('Read its history.', bursar(`explain ${id}`))

/** Whether the network's fee is above the cap, so that nothing is signed. */
export function isOverCap(chain: ChainNow | null): boolean {
  if (chain === null || !chain.node.up) return false
  return chain.node.baseFeePerGas + chain.settings.minTipWei > chain.settings.maxFeePerGasWei
}
