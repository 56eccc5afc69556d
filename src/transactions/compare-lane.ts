/**
 * Compares a lane with its chain before the first signature there. A database that was restored, or replaced by a
 * lagging standby, is missing signatures: what it wants signed may already be on chain or in a node's pool.
 *
 * Invariant: a request is signed with a new nonce only when every transaction of the sender below that nonce, and every
 * one that nodes showed at the first check after a start of the database, is known: signed in the log, or processed in a
 * block without the tag of the request. The nonce follows from the log and from what a quorum of the nodes says.
 */
import { LRUCache } from 'lru-cache'
import type { Nodes } from '../chain/agreement.ts'
import { countsNow } from '../chain/transaction-counts.ts'
import type { Context } from '../context.ts'
import { atMost } from '../core/at-most.ts'
import { decideOn } from '../event-log/aggregate.ts'
import type { Fence } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionCommand } from './decider.ts'
import type { SignedBytes } from './events.ts'
import type { HeldCause } from './held-cause.ts'
import { createJudgeCounts, type JudgeCounts, type Look } from './judge-counts.ts'
import { type Lane, laneName } from './lanes.ts'
import {
  callOf,
  type Known,
  type LaneKnowledge,
  type Outside,
  type OutsideReads,
  type Proven,
  type Recognised,
  recogniseFirst,
  recogniseNewer,
  type SeenLoose,
  tagsToFind,
} from './outside.ts'
import { readSigned, type ShownTransaction } from './read-signed.ts'
import { isUnmined } from './state.ts'
import { readTag, type TagKeys } from './tags.ts'

/** Lanes remembered as compared; a forgotten one is compared again. */
const REMEMBERED_LANES = 50_000
/** Transactions of other programs; forgotten ones are read again. */
const REMEMBERED_PROOFS = 10_000

/** What a comparison tells its caller of a lane. */
export type LaneReports = {
  /** Called when a lane, or a request, must wait, with the cause. */
  readonly onHeld: (lane: Lane, cause: HeldCause) => void
  /** Called for signed bytes that were missing in the log and found on chain. */
  readonly onRecovered: (lane: Lane, transactionId: string, bytes: SignedBytes) => void
}

type CompareContext = Pick<Context, 'log'> &
  LaneReports & {
    readonly outside: OutsideReads
    readonly keys: TagKeys
    /** `untagged`: the database went back to a state from before signatures had tags: forgotten ones may have none. */
    readonly restoreState: (epoch: string) => Promise<{ readonly untagged: boolean }>
    readonly chainOf: (chainId: number) => { readonly client: Nodes }
    /** A monotonic clock, ms. */
    readonly now: () => number
    /** Why nothing may be signed on this log; `null` when signing is allowed. */
    readonly refusal: (epoch: string) => Promise<string | null>
  }

/**
 * `held`: why the lane must wait; `null` when it may sign. `unclear`: requests that must wait, whatever the lane does.
 * `from`: the lowest nonce that may be given: all lower ones are known.
 */
export type Compared = { readonly held: HeldCause | null; readonly unclear: readonly string[]; readonly from: number }

const FREE: Compared = { held: null, unclear: [], from: 0 }

/**
 * @param waiting the requests about to be signed for the first time, in order of acceptance
 * @throws Unavailable when no node answers
 */
export type CompareLane = (lane: Lane, lease: Fence, waiting: readonly string[]) => Promise<Compared>

export function createCompareLane(ctx: CompareContext): CompareLane {
  const looks = new LRUCache<string, Look>(atMost(REMEMBERED_LANES))
  const proofs: Proofs = new LRUCache(atMost(REMEMBERED_PROOFS))
  const judge = createJudgeCounts({ now: ctx.now, assigned: ctx.outside.assigned })
  return async (lane, lease, waiting) => {
    const name = laneName(lane)
    const { known, requests, loose } = await readLane(ctx, lane, waiting)
    const before = looks.get(name)
    const last = before?.epoch === known.epoch && known.outside >= before.outside ? before : null
    const search = { epoch: known.epoch, proofs, requests, loose }
    if (waiting.length === 0) {
      if (last === null) looks.delete(name)
      else looks.set(name, { ...last, outside: known.outside })
      if (known.outside > 0) await recover(ctx, lane, lease, search)
      return FREE
    }
    const seen = await lookAtChain(ctx, judge, lane, known, last)
    if ('kind' in seen) {
      ctx.onHeld(lane, seen)
      return { held: seen, unclear: [], from: 0 }
    }
    const unclear = known.outside > 0 ? await recover(ctx, lane, lease, search) : []
    looks.set(name, seen.look)
    if (seen.held !== null) ctx.onHeld(lane, seen.held)
    return { held: seen.held, unclear, from: seen.from }
  }
}

type Seen = SeenLoose & { readonly requests: readonly Known[] }
type Search = Omit<Seen, 'known'> & { readonly epoch: string; readonly proofs: Proofs }

/**
 * What is known of the lane, with the transactions that may be signatures of the waiting requests, by their tags or by
 * what they do: all as of one moment, so that blocks which left the chain in between hide none.
 */
async function readLane({ log, outside, keys }: CompareContext, lane: Lane, waiting: readonly string[]): Promise<Seen> {
  const known = await outside.knowledge(lane)
  const isAlone = waiting.length === 0 || known.outside === 0
  const requests = isAlone ? [] : [...(await load(log, new Set(waiting))).values()]
  if (requests.length === 0) return { known, requests, loose: [] }
  const tags = [...new Set(requests.flatMap((request) => tagsToFind(keys, request)))]
  return { requests, ...(await outside.loose(lane, { tags, contents: [...new Set(requests.map(callOf))] })) }
}

/** What the lane must wait for, after asking each node about the sender; or a reason to refuse. */
async function lookAtChain(
  { chainOf, refusal }: CompareContext,
  judge: JudgeCounts,
  lane: Lane,
  known: LaneKnowledge,
  before: Look | null,
) {
  const refused = before === null ? await refusal(known.epoch) : null
  if (refused !== null) return { kind: 'log_refused', reason: refused } as const
  const asked = { address: lane.address, block: known.cursor, isFirst: before?.until !== null }
  return judge(lane, known, before, await countsNow(chainOf(lane.chainId).client, asked))
}

/**
 * Records transactions found on chain for waiting requests and for signed ones whose newer bytes are missing in the log,
 * what does the same and is another program's, and what an operator must judge.
 *
 * @returns the waiting requests that must not be signed now
 */
async function recover(
  ctx: CompareContext,
  lane: Lane,
  lease: Fence,
  { epoch, proofs, requests, loose }: Search,
): Promise<readonly string[]> {
  const { log, outside, keys, restoreState } = ctx
  const { untagged } = await restoreState(epoch)
  const settings = { keys, untagged }
  const overtaken = await outside.overtaken(lane)
  const signed = await load(log, new Set(overtaken.map(({ id }) => id)))
  const newer = (await prove(ctx, lane, proofs, overtaken)).flatMap((one) => {
    const known = signed.get(one.id)
    return known === undefined ? [] : recogniseNewer(settings, known, one)
  })
  const first = recogniseFirst(settings, requests, await prove(ctx, lane, proofs, loose))
  // Each request once: of several transactions with its tag, the lowest nonce is looked at first.
  const each = new Map([...newer, ...first].reverse().map((one) => [one.known.loaded.id, one]))
  const outcomes = [...each.values()].map((one) => outcomeOf(one, log.now()))
  const bySigner = { worker: 'signer', cause: laneName(lane) }
  const decisions = outcomes.map(({ known: { loaded }, command }) =>
    command === undefined ? null : decideOn(transactionAggregate, loaded, command, { ...bySigner, now: log.now() }),
  )
  await log.commit(decisions, { fence: lease })
  for (const { known, command, held } of outcomes) {
    if (held !== undefined) ctx.onHeld(lane, held)
    if (command && 'signed' in command) ctx.onRecovered(lane, known.loaded.id, command.signed)
  }
  return outcomes.flatMap(({ known, held }) => (held === undefined ? [] : [known.loaded.id]))
}

/** By hash, what a node has proven: it never changes. */
type Proofs = LRUCache<string, ShownTransaction | 'foreign'>

/** The bytes decide: a row only says where to look, and what it says of fees and effect may be wrong. */
function prove<Row extends Outside>(
  { chainOf }: CompareContext,
  { chainId, address }: Lane,
  proofs: Proofs,
  rows: readonly Row[],
): Promise<Proven<Row>[]> {
  return Promise.all(
    rows.map(async (row) => {
      const { hash } = row
      const bytes = proofs.get(hash) ?? (await readSigned(chainOf(chainId).client, { hash, from: address, chainId }))
      if (bytes === null) return { ...row, bytes }
      proofs.set(hash, bytes)
      return bytes === 'foreign'
        ? { ...row, tag: null, bytes }
        : { ...row, nonce: bytes.nonce, content: bytes.content, tag: readTag(bytes.fees), bytes }
    }),
  )
}

/** What to record, and why the request must wait. */
type Outcome = { readonly known: Known; readonly command?: TransactionCommand; readonly held?: HeldCause }

function outcomeOf(one: Recognised, now: string): Outcome {
  const { known } = one
  if (one.is === 'own') {
    const { content: _, ...shown } = one.bytes
    const recovered = { signed: { ...shown, signedAt: now }, recovered: true } as const
    const { purpose } = one
    return {
      known,
      command:
        purpose === null
          ? { type: 'RecordSignature', ...recovered }
          : { type: 'RecordReplacement', purpose, ...recovered },
    }
  }
  const { hash, nonce } = one.outside
  if (one.is === 'foreign') return { known, command: { type: 'RejectLookalike', hash, nonce, by: 'tag', now } }
  const { why } = one
  const held: HeldCause = { kind: why, transactionId: known.loaded.id, hash, nonce }
  if (why !== 'no_tag' && why !== 'other_call') return { known, held }
  return { known, held, command: { type: 'HoldLookalike', lookalike: { hash, nonce, why }, now } }
}

/** The transactions that are in no block and whose events are consistent. */
async function load(log: EventLog, ids: ReadonlySet<string>): Promise<Map<string, Known>> {
  const checked = ids.size === 0 ? [] : await log.loadChecked(transactionAggregate, [...ids])
  return new Map(
    checked.flatMap(({ broken, tenantId: _, ...loaded }) => {
      const { id, state: transaction } = loaded
      const isOpen = broken === null && transaction.state !== 'unknown' && isUnmined(transaction)
      return isOpen ? [[id, { loaded, transaction }] as const] : []
    }),
  )
}
