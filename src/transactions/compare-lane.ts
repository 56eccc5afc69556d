/**
 * Compares a lane with its chain before the first signature there. A database that was restored, or replaced by a
 * lagging standby, is missing signatures: what it wants signed may already be on chain or in a node's pool.
 *
 * Invariant: a request is signed with a new nonce only when every transaction of the sender that nodes showed at the
 * first check after a start of the database is known: signed in the log, or processed in a block without the tag of
 * the request.
 */
import { LRUCache } from 'lru-cache'
import { readCount } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import { ChainRefused } from '../core/errors.ts'
import { type Change, change } from '../event-log/aggregate.ts'
import type { Lease } from '../event-log/leases.ts'
import { decided, type EventLog } from '../event-log/log.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionCommand } from './decider.ts'
import type { Fees, SignedBytes } from './events.ts'
import type { HeldCause, LookalikeCause } from './held-cause.ts'
import { type Lane, laneName } from './lanes.ts'
import type { LaneKnowledge, Outside, OutsideReads } from './outside.ts'
import { readSigned } from './read-signed.ts'
import { hasTag, type Known, type Recognised, recogniseFirst, recogniseNewer } from './recognise.ts'
import { isUnmined } from './state.ts'
import { readTag, type TagKeys } from './tags.ts'
import { workerMetadata } from './worker-metadata.ts'

/** Lanes remembered as compared; a forgotten one is compared again. */
const REMEMBERED_LANES = 50_000

export type CompareLanePorts = {
  readonly log: EventLog
  readonly outside: OutsideReads
  readonly keys: TagKeys
  /** Whether the database went back to a state from before signatures had tags: forgotten ones may have none. */
  readonly untagged: (epoch: string) => Promise<boolean>
  readonly clientOf: (chainId: number) => RpcReader
  /** Why nothing may be signed on this log; `null` when signing is allowed. */
  readonly refusal: (epoch: string) => Promise<string | null>
  /** Called when a lane, or a request, must wait, with the cause. */
  readonly onHeld: (lane: Lane, cause: HeldCause) => void
  /** Called for signed bytes that were missing in the log and found on chain. */
  readonly onRecovered: (lane: Lane, transactionId: string, bytes: SignedBytes) => void
}

/** `held`: why the lane must wait; `null` when it may sign. `unclear`: requests that must wait, whatever the lane does. */
export type Compared = { readonly held: HeldCause | null; readonly unclear: readonly string[] }

const FREE: Compared = { held: null, unclear: [] }

/** @param waiting the requests about to be signed for the first time, in order of acceptance */
export type CompareLane = (lane: Lane, lease: Lease, waiting: readonly string[]) => Promise<Compared>

/**
 * `until`: lower nonces must be processed before the lane is complete; `null` when it is. `outside`: as it was known then.
 * When it is lower later, blocks left the chain, and their transactions are in pools again.
 */
type Look = { readonly epoch: string; readonly until: number | null; readonly outside: number }

export function createCompareLane(ports: CompareLanePorts): CompareLane {
  const looks = new LRUCache<string, Look>({ max: REMEMBERED_LANES })
  return async (lane, lease, waiting) => {
    const name = laneName(lane)
    const known = await ports.outside.knowledge(lane)
    const before = looks.get(name)
    const last = before?.epoch === known.epoch && known.outside >= before.outside ? before : null
    if (waiting.length === 0) {
      if (last === null) looks.delete(name)
      else looks.set(name, { ...last, outside: known.outside })
      if (known.outside > 0) await recover(ports, lane, lease, known.epoch, waiting)
      return FREE
    }
    const look = last?.until === null ? last : await firstLook(ports, lane, known, last)
    if ('kind' in look) {
      ports.onHeld(lane, look)
      return { held: look, unclear: [] }
    }
    const unclear = known.outside > 0 ? await recover(ports, lane, lease, known.epoch, waiting) : []
    looks.set(name, { ...look, outside: known.outside })
    const held = waitsFor(known, look)
    if (held !== null) ports.onHeld(lane, held)
    return { held, unclear }
  }
}

/** What the lane must wait for, after querying nodes about the sender; or a reason to refuse. */
async function firstLook(
  { clientOf, refusal }: CompareLanePorts,
  lane: Lane,
  { next, cursor, epoch, outside }: LaneKnowledge,
  before: Look | null,
): Promise<Look | HeldCause> {
  const refused = before === null ? await refusal(epoch) : null
  if (refused !== null) return { kind: 'log_refused', reason: refused }
  const client = clientOf(lane.chainId)
  const mined = await countAt(client, lane, 'latest')
  const shown = Math.max(mined, await countAt(client, lane, 'pending').catch(refusedCount))
  // Foreign transactions sent after the first check are not awaited, nor are those that a pool has dropped.
  const until = Math.min(shown, before?.until ?? shown)
  if (until <= next) return { epoch, until: null, outside }
  // By its hash: at the same number, nodes may be on a branch that the follower has not read yet.
  const walked = cursor === null ? 0 : await countAt(client, lane, { blockHash: cursor.hash }).catch(refusedCount)
  return { epoch, until: walked >= until ? null : until, outside }
}

/** A node that does not answer for this block, or for its pool, shows nothing. */
function refusedCount(error: unknown): number {
  if (error instanceof ChainRefused) return 0
  throw error
}

type At = 'latest' | 'pending' | { readonly blockHash: string }

async function countAt(client: RpcReader, { address }: Lane, at: At): Promise<number> {
  return readCount(await rpcCall(client, 'eth_getTransactionCount', [address, at]), 'a transaction count')
}

function waitsFor({ next, cursor }: LaneKnowledge, { until }: Look): HeldCause | null {
  return until === null ? null : { kind: 'not_walked', until, next, cursor: cursor?.number ?? null }
}

/**
 * Records transactions found on chain for waiting requests and for signed ones whose newer bytes are missing in the log,
 * what does the same and is another program's, and what an operator must judge.
 *
 * @returns the waiting requests that must not be signed now
 */
async function recover(
  ports: CompareLanePorts,
  lane: Lane,
  lease: Lease,
  epoch: string,
  waiting: readonly string[],
): Promise<readonly string[]> {
  const { log, outside, keys, untagged } = ports
  const settings = { keys, untagged: await untagged(epoch) }
  const overtaken = await outside.overtaken(lane)
  const signed = await load(log, new Set(overtaken.map(({ id }) => id)))
  const newer = overtaken.flatMap((one) => {
    const known = signed.get(one.id)
    return known === undefined ? [] : recogniseNewer(settings, known, one)
  })
  const first = await recogniseFirst(settings, outside, lane, [...(await load(log, new Set(waiting))).values()])
  // Each request once: of several transactions with its tag, the lowest nonce is looked at first.
  const each = new Map([...newer, ...first].reverse().map((one) => [one.known.loaded.id, one]))
  const outcomes = await Promise.all([...each.values()].map((one) => examine(ports, lane, one)))
  const changes = decided(
    outcomes.map(({ known, command }) => (command === undefined ? null : record(ports, lane, known, command))),
  )
  if (changes.length > 0) await log.append({ changes, guards: { fence: lease } })
  for (const { known, command, held } of outcomes) {
    if (held !== undefined) ports.onHeld(lane, held)
    if (command && 'signed' in command) ports.onRecovered(lane, known.loaded.id, command.signed)
  }
  return outcomes.flatMap(({ known, held }) => (held === undefined ? [] : [known.loaded.id]))
}

/** What to record, and why the request must wait. */
type Outcome = { readonly known: Known; readonly command?: TransactionCommand; readonly held?: HeldCause }

/** The bytes themselves decide: a row only says where to look. */
async function examine(ports: CompareLanePorts, lane: Lane, one: Recognised): Promise<Outcome> {
  const { known, outside } = one
  const { hash, nonce } = outside
  const now = ports.log.now()
  if (one.is === 'foreign') return { known, command: { type: 'RejectLookalike', hash, nonce, by: 'tag', now } }
  if (one.is === 'unclear') {
    const { why } = one
    const held = heldBecause(known, outside, why ?? 'nonce_taken')
    return why === null
      ? { known, held }
      : { known, held, command: { type: 'HoldLookalike', lookalike: { hash, nonce, why }, now } }
  }
  const { purpose } = one
  const client = ports.clientOf(lane.chainId)
  const bytes = await readSigned(client, { hash, from: lane.address, chainId: lane.chainId })
  if (bytes === null || bytes === 'foreign') {
    // Newer bytes of a signed request have its nonce. A first signature waits: the node may be behind the block in which
    // the follower saw the bytes, and if that block leaves the chain the follower deletes what it saw.
    return purpose === null ? { known, held: heldBecause(known, outside, 'not_shown') } : { known }
  }
  if (bytes.content !== outside.content || !isTagged(ports.keys, known, purpose, bytes.fees)) return { known }
  const { content: _, ...shown } = bytes
  const signed = { ...shown, signedAt: now }
  return {
    known,
    command:
      purpose === null
        ? { type: 'RecordSignature', signed, recovered: true }
        : { type: 'RecordReplacement', signed, purpose, recovered: true },
  }
}

function heldBecause({ loaded }: Known, { hash, nonce }: Outside, kind: LookalikeCause['kind']): LookalikeCause {
  return { kind, transactionId: loaded.id, hash, nonce }
}

function isTagged(keys: TagKeys, known: Known, purpose: 'bump' | 'cancel' | null, fees: Fees): boolean {
  return hasTag(keys, known, purpose === 'cancel' ? 'cancel' : 'send', readTag(fees))
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

function record({ log }: CompareLanePorts, lane: Lane, { loaded }: Known, command: TransactionCommand): Change | null {
  const metadata = workerMetadata(loaded.state, 'signer', laneName(lane))
  return change(transactionAggregate, loaded, command, { metadata, now: log.now() })
}
