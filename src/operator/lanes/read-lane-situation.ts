/** The context for judging a lane: live processes, and whether its chain is followed. */
import type { ChainNow } from '../chain-now.ts'
import { limitsOf } from '../limits.ts'
import type { OperatorContext } from '../operator-context.ts'
import { followingOf } from '../stuck/judge-following.ts'
import { liveOf } from '../stuck/judge-service.ts'
import { readCursors, readProcesses } from '../stuck/service-facts.ts'
import type { LaneSituation } from './lane-situation.ts'

export type ContextOf = (chain: ChainNow | null) => LaneSituation

export async function readLaneSituation({ pool, config }: OperatorContext): Promise<ContextOf> {
  const limits = limitsOf(config)
  const [processes, cursors] = await Promise.all([readProcesses(pool), readCursors(pool)])
  const live = { signer: liveOf(processes, 'signer'), submitter: liveOf(processes, 'submitter') }
  return (chain) => ({ chain, limits, live, ...followingOf(cursors, chain, limits) })
}
