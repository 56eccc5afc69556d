/**
 * What the transaction counts that nodes say of an account mean for the next nonces of its lane. The log and the processed
 * blocks explain most of them. What they do not explain may be a transaction that the database forgot, or a lie: the lane
 * waits, and after some minutes what a quorum says counts.
 *
 * Invariant: a nonce above what the log and the processed blocks explain is given only where a quorum of the nodes has named
 * it for that long, or the lane has no transaction yet. What a minority says can only delay.
 */
import { LRUCache } from 'lru-cache'
import type { CountsNow, ShownCount } from '../chain/transaction-counts.ts'
import { atMost } from '../core/at-most.ts'
import { DOUBT_MINUTES, type HeldCause } from './held-cause.ts'
import { type Lane, laneName } from './lanes.ts'
import type { LaneKnowledge, OutsideReads } from './outside.ts'

const DOUBT_MS = DOUBT_MINUTES * 60_000
const REMEMBERED_DOUBTS = 10_000

/** Whoever says what a quorum says. */
const QUORUM = 'quorum'

/**
 * `until`: lower nonces must be processed before the lane is complete; `null` when it is. `walked`: lower nonces are
 * processed, or the log has them. `outside`: as it was known then. When it is lower later, blocks left the chain, and their
 * transactions are in pools again. `accepted`: a count of a quorum that nothing explains, after its time.
 */
export type Look = {
  readonly epoch: string
  readonly until: number | null
  readonly walked: number
  readonly outside: number
  readonly accepted: number
}

/** `from`: the lowest nonce that may be given, where the lane need not wait. */
export type Seen = { readonly look: Look; readonly held: HeldCause | null; readonly from: number }

/** @param before the last look at the lane, of the same database */
export type JudgeCounts = (
  lane: Lane,
  known: LaneKnowledge,
  before: Look | null,
  counts: CountsNow,
) => Promise<Seen | HeldCause>

/** @param now a monotonic clock, ms */
export function createJudgeCounts({
  now,
  assigned,
}: { readonly now: () => number } & Pick<OutsideReads, 'assigned'>): JudgeCounts {
  const doubts = new LRUCache<string, number>(atMost(REMEMBERED_DOUBTS))

  const nameOf = (lane: Lane, { epoch }: LaneKnowledge, who: string) => `${laneName(lane)} ${epoch} ${who}`

  /** Of one node not begun again when its count changes: one that lies now and then would hold the lane each time. */
  function isOver(lane: Lane, known: LaneKnowledge, who: string): boolean {
    const name = nameOf(lane, known, who)
    const since = doubts.get(name) ?? now()
    doubts.set(name, since)
    return now() - since > DOUBT_MS
  }

  return async (lane, known, before, counts) => {
    const { agreed, latest, shown, quorum } = counts
    const isFirst = before?.until !== null
    const own = Math.max(known.next, known.outside, known.taken)
    if (isFirst && latest.length < quorum.needed)
      return { kind: 'too_few_nodes', answered: latest.length, nodes: quorum.nodes, needed: quorum.needed }
    // The nodes answer and do not have the newest processed block: a reorg is being followed, and may leave a gap.
    if (agreed === null && latest.length >= quorum.needed)
      return { kind: 'not_walked', until: own, next: known.next, cursor: known.cursor?.number ?? null }
    // The log has given nonces, so a higher count is of a transaction that it does not have.
    const explained = Math.max(own, before?.accepted ?? 0)
    const isJump = agreed !== null && own > 0 && agreed > explained
    if (!isJump) doubts.delete(nameOf(lane, known, QUORUM))
    else if (!isOver(lane, known, QUORUM))
      return { kind: 'count_doubted', hosts: saying(counts, agreed), count: agreed, explained }
    const walked = Math.max(agreed ?? 0, isFirst ? 0 : before.walked)
    const from = agreed ?? Math.max(own, walked)
    const isKnown = async (to: number) => to <= walked || (await assigned(lane, walked, to)) === to - walked

    /** The highest that is explained or not doubted for long, and who says it alone. */
    async function believed(said: readonly ShownCount[]): Promise<ShownCount> {
      const decided = decidedBy(said, quorum.needed, isFirst)
      for (const one of [...said].sort((a, b) => b.count - a.count)) {
        if (one.count <= decided) break
        if ((await isKnown(one.count)) || !isOver(lane, known, one.host)) return one
      }
      return { host: QUORUM, count: decided }
    }

    const newest = await believed(latest)
    const pooled = isFirst ? await believed(shown) : newest
    // What a pool has dropped is not awaited, nor what was sent after the first look and is in no block.
    const until = Math.max(from, newest.count, Math.min(pooled.count, before?.until ?? pooled.count))
    const look = { epoch: known.epoch, outside: known.outside, accepted: isJump ? agreed : (before?.accepted ?? 0) }
    if (await isKnown(until))
      return { look: { ...look, until: null, walked: Math.max(walked, until) }, held: null, from }
    const alone = [newest, pooled].find(({ host, count }) => host !== QUORUM && count === until)
    const held: HeldCause =
      alone === undefined
        ? { kind: 'not_walked', until, next: known.next, cursor: known.cursor?.number ?? null }
        : { kind: 'count_doubted', hosts: [alone.host], count: until, explained }
    // Once complete, a lane stays so: it waits for what is new alone.
    return { look: { ...look, until: isFirst ? until : null, walked: isFirst ? walked : before.walked }, held, from }
  }
}

/**
 * What counts where nodes differ: before a lane is complete, the least that a quorum does not exceed, since one that shows
 * less may hide what the database forgot; then the most that a quorum reaches.
 */
function decidedBy(said: readonly ShownCount[], needed: number, isFirst: boolean): number {
  const counts = said.map(({ count }) => count).sort((a, b) => a - b)
  return (isFirst ? counts[needed - 1] : counts[counts.length - needed]) ?? 0
}

function saying({ latest }: CountsNow, count: number): readonly string[] {
  return latest.filter((one) => one.count >= count).map(({ host }) => host)
}
