/**
 * The newest followed block that a quorum of the nodes calls final (EIP-3675; milestones of polygon, fast finality of BSC). A
 * reorg below it is followed only after an operator's word. Development nodes call any block final: only public chains count.
 */
import type { Nodes } from '../chain/agreement.ts'
import type { BlockRef } from '../chain/blocks.ts'
import type { FollowStep } from '../chain/follow.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { ChainRefused, Unavailable } from '../core/errors.ts'
import type { ReadAccepted } from './accept-reorg.ts'
import type { WalkedBlocks } from './cursor.ts'

/** Final blocks come in epochs of some seconds or minutes. */
const LOOK_INTERVAL_MS = 10_000

export type Finality = {
  /** The newest final block at the cursor or below; `null` where the chain has none. Asks the nodes at most every ten seconds. */
  readonly at: (cursor: BlockRef) => Promise<BlockRef | null>
  /** The step, or a refusal where it would undo a final block. */
  readonly judged: (step: FollowStep) => Promise<FollowStep>
}

type Ports = {
  readonly client: Pick<Nodes, 'newest'>
  readonly walked: Pick<WalkedBlocks, 'final' | 'hash'>
  readonly accepted: ReadAccepted
  readonly settings: Pick<ChainSettings, 'chainId' | 'finalizes'>
}

export function createFinality({ client, walked, accepted, settings }: Ports): Finality {
  const { chainId, finalizes } = settings
  let lookedAt = Number.NEGATIVE_INFINITY
  /** `undefined`: not read yet. */
  let last: BlockRef | null | undefined

  return {
    async at(cursor) {
      if (finalizes !== true) return null
      if (last === undefined) last = await walked.final(chainId)
      if (performance.now() - lookedAt < LOOK_INTERVAL_MS) return last
      lookedAt = performance.now()
      const named = await client.newest('finalized').catch(asSilence)
      if (named === null || named.number > cursor.number || named.number <= (last?.number ?? -1)) return last
      const hash = named.number === cursor.number ? cursor.hash : await walked.hash(chainId, named.number)
      // A final block of another branch than the followed one: the reorg to that branch comes first.
      if (hash === named.hash) last = named
      return last
    },
    async judged(step) {
      if (step.type !== 'reorg') return step
      // The commit of the step forgets the final block of a branch that an operator gives up.
      const stands = step.genesis === undefined ? await walked.final(chainId) : null
      last = stands
      if (stands === null || step.to.number >= stands.number) return step
      const word = (await accepted())?.final
      if (word?.number === stands.number && word.hash === stands.hash) {
        last = null
        return step
      }
      const reason =
        `the nodes show another chain from block ${step.to.number + 1} on, and block ${stands.number} (${stands.hash}), which was followed, ` +
        'is final: nothing is undone. If the chain was changed on purpose, run npm run bursar -- accept-reorg'
      return {
        type: 'refused',
        head: step.head,
        reason,
        refusal: { from: step.to.number + 1, final: stands, genesis: null },
      }
    },
  }
}

/** Nodes that name no final block, or too few that agree on one: the last one stands. */
function asSilence(error: unknown): null {
  if (error instanceof Unavailable || error instanceof ChainRefused) return null
  throw error
}
