/**
 * The comparison of a lane with each defect that a mutant brings back: what an earlier version did before signatures had
 * tags, and what would make the tags useless. The production's comparison runs after it.
 */
import { decideOn } from '../../src/event-log/aggregate.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { buildCall } from '../../src/transactions/build-call.ts'
import type { CompareLane } from '../../src/transactions/compare-lane.ts'
import { contentOf } from '../../src/transactions/content.ts'
import type { OutsideReads } from '../../src/transactions/outside.ts'
import { readSigned } from '../../src/transactions/read-signed.ts'
import { oneNode } from '../support/one-node.ts'
import type { Node } from './node.ts'
import type { OutsideRow } from './store.ts'
import { CHAIN_ID, type World } from './terms.ts'

const SOME_MINUTES = 10 * 60_000

/** What the mutant reads instead of what is there. */
export function brokenReads({ mutant, store, wallClock }: World, reads: OutsideReads): OutsideReads {
  const { looksSince } = mutant
  const isSeen = ({ hash }: { readonly hash: string }) =>
    !looksSince ||
    [...store.outside.values()].some((row) => row.hash === hash && isRecent(row, oldestOpen(store) ?? wallClock()))
  return {
    ...reads,
    loose: async (lane, wanted) => {
      const seen = await reads.loose(lane, wanted)
      return { ...seen, loose: seen.loose.filter(isSeen) }
    },
  }
}

/** Claims what does the same: for a request that waits, or with the nonce of one that is signed. */
export function brokenCompare(world: World, log: EventLog, node: Node, compare: CompareLane): CompareLane {
  const { mutant, store } = world
  if (mutant.skipsLook)
    return async (lane, lease) => {
      await compare(lane, lease, [])
      return { held: null, unclear: [], from: 0 }
    }
  if (mutant.matchesContent === null && !mutant.takesOwnNonce) return compare
  return async (lane, lease, waiting) => {
    const since = mutant.matchesContent === 'always' ? Number.NEGATIVE_INFINITY : oldestOpen(store)
    const rows = [...store.outside.values()].filter(
      (row) => row.address === lane.address && (mutant.takesOwnNonce || isRecent(row, since ?? world.wallClock())),
    )
    const ids = mutant.takesOwnNonce ? [...store.transactions.keys()] : waiting
    const loaded = await log.loadMany(transactionAggregate, ids)
    const used = new Set<string>()
    const changes = []
    for (const item of loaded) {
      const { state } = item
      if (state.state === 'unknown' || state.inclusion !== null) continue
      const content = contentOf(buildCall(state.intent))
      const nonce = state.attempts.at(-1)?.nonce ?? null
      const isFree = ({ hash }: OutsideRow) =>
        !used.has(hash) && [...store.transactions.values()].every(({ hashes }) => !hashes.includes(hash))
      const row = rows.find((one) => one.content === content && isFree(one) && (nonce === null || one.nonce === nonce))
      if (row === undefined || (nonce === null) === mutant.takesOwnNonce) continue
      const bytes = await readSigned(oneNode(node), { hash: row.hash, from: lane.address, chainId: CHAIN_ID })
      if (bytes === null || bytes === 'foreign') continue
      used.add(row.hash)
      const signed = { ...bytes, signedAt: log.now() }
      const command =
        nonce === null
          ? ({ type: 'RecordSignature', signed, recovered: true } as const)
          : ({ type: 'RecordReplacement', signed, purpose: 'bump', recovered: true } as const)
      const metadata = { tenantId: state.intent.tenantId, actor: 'mutant' }
      changes.push(decideOn(transactionAggregate, item, command, { metadata, now: log.now() }))
    }
    await log.commit(changes, { fence: lease })
    return compare(
      lane,
      lease,
      waiting.filter((id) => store.transactions.get(id)?.state === 'requested'),
    )
  }
}

/** When the oldest request that waits was made, by the clock of the service. */
function oldestOpen(store: World['store']): number | null {
  const open = [...store.transactions.values()].filter(({ state }) => state === 'requested')
  return open.length === 0 ? null : Math.min(...open.map(({ created_at: at }) => Date.parse(String(at))))
}

function isRecent({ block_time: at }: OutsideRow, since: number): boolean {
  return Date.parse(at) >= since - SOME_MINUTES
}
