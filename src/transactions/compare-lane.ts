/**
 * Compares a lane with its chain before the first signature there. A database that was restored, or replaced by a
 * lagging standby, is missing signatures: what it wants signed may already be on chain or in a node's pool.
 *
 * Invariant: a request is signed with a new nonce only when every transaction of the sender that nodes showed at the
 * first check after a start of the database is known: signed in the log, or processed in a block with content other
 * than the request's.
 */
import { LRUCache } from 'lru-cache'
import { readCount, toQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import { ChainRefused } from '../core/errors.ts'
import { type Change, change, type Loaded } from '../event-log/aggregate.ts'
import type { Lease } from '../event-log/leases.ts'
import { decided, type EventLog } from '../event-log/log.ts'
import { transactionAggregate } from './aggregate.ts'
import { buildCall } from './build-call.ts'
import { contentOf, purposeOf } from './content.ts'
import type { TransactionCommand } from './decider.ts'
import type { HeldCause } from './held-cause.ts'
import { type Lane, laneName } from './lanes.ts'
import type { LaneKnowledge, Outside, OutsideReads } from './outside.ts'
import { readSigned, type ShownTransaction } from './read-signed.ts'
import { isUnmined, type KnownTransaction, type TransactionState } from './state.ts'
import { workerMetadata } from './worker-metadata.ts'

/** Lanes remembered as compared; a forgotten one is compared again. */
const REMEMBERED_LANES = 50_000

export type CompareLanePorts = {
  readonly log: EventLog
  readonly outside: OutsideReads
  readonly clientOf: (chainId: number) => RpcReader
  /** Why nothing may be signed on this log; `null` when signing is allowed. */
  readonly refusal: (epoch: string) => Promise<string | null>
  /** Called when a lane must wait. */
  readonly onHeld: (lane: Lane, cause: HeldCause) => void
  /** Called for signed bytes that were missing in the log and found on chain. */
  readonly onRecovered: (lane: Lane, transactionId: string, bytes: ShownTransaction) => void
}

/**
 * @param waiting the requests about to be signed for the first time, in order of acceptance
 * @returns why the lane must wait; `null` when it may sign
 */
export type CompareLane = (lane: Lane, lease: Lease, waiting: readonly string[]) => Promise<HeldCause | null>

/** `until`: lower nonces must be processed before the lane is complete; `null` when it is. */
type Look = { readonly epoch: string; readonly until: number | null }

export function createCompareLane(ports: CompareLanePorts): CompareLane {
  const looks = new LRUCache<string, Look>({ max: REMEMBERED_LANES })
  return async (lane, lease, waiting) => {
    const name = laneName(lane)
    const known = await ports.outside.knowledge(lane)
    if (waiting.length === 0) return known.hasOutside ? recover(ports, lane, lease, waiting) : null
    const before = looks.get(name)
    const last = before?.epoch === known.epoch ? before : null
    const look = last?.until === null ? last : await firstLook(ports, lane, known, last)
    if ('kind' in look) {
      ports.onHeld(lane, look)
      return look
    }
    const unclear = known.hasOutside ? await recover(ports, lane, lease, waiting) : null
    looks.set(name, look)
    const held = unclear ?? waitsFor(known, look)
    if (held !== null) ports.onHeld(lane, held)
    return held
  }
}

/** What the lane must wait for, after querying nodes about the sender; or a reason to refuse. */
async function firstLook(
  { clientOf, refusal }: CompareLanePorts,
  lane: Lane,
  { next, cursor, epoch }: LaneKnowledge,
  before: Look | null,
): Promise<Look | HeldCause> {
  const refused = before === null ? await refusal(epoch) : null
  if (refused !== null) return { kind: 'log_refused', reason: refused }
  const client = clientOf(lane.chainId)
  const mined = await countAt(client, lane, 'latest')
  const shown = Math.max(mined, await countAt(client, lane, 'pending').catch(refusedCount))
  // Foreign transactions sent after the first check are not awaited, nor are those that a pool has dropped.
  const until = Math.min(shown, before?.until ?? shown)
  if (until <= next) return { epoch, until: null }
  const walked = cursor === null ? 0 : await countAt(client, lane, cursor).catch(refusedCount)
  return { epoch, until: walked >= until ? null : until }
}

/** A node that does not answer for this block, or for its pool, shows nothing. */
function refusedCount(error: unknown): number {
  if (error instanceof ChainRefused) return 0
  throw error
}

async function countAt(client: RpcReader, { address }: Lane, block: number | 'latest' | 'pending'): Promise<number> {
  const at = typeof block === 'number' ? toQuantity(block) : block
  return readCount(await rpcCall(client, 'eth_getTransactionCount', [address, at]), 'a transaction count')
}

function waitsFor({ next, cursor }: LaneKnowledge, { until }: Look): HeldCause | null {
  return until === null ? null : { kind: 'not_walked', until, next, cursor }
}

/**
 * Records transactions found on chain for waiting requests, and for signed ones whose newer bytes are missing in the
 * log.
 *
 * @returns why the owner of a transaction is unclear; `null` when it is not
 */
async function recover(
  ports: CompareLanePorts,
  lane: Lane,
  lease: Lease,
  waiting: readonly string[],
): Promise<HeldCause | null> {
  const { log, outside } = ports
  const overtaken = await outside.overtaken(lane)
  const signed = await load(log, new Set(overtaken.map(({ id }) => id)))
  const newer = await Promise.all(overtaken.map((one) => newerBytes(ports, lane, one, signed.get(one.id))))
  const { held, found: first } = await firstBytes(ports, lane, waiting)
  const found = held === null ? [...newer.flat(), ...first] : newer.flat()
  const changes = decided(found.map((item) => record(ports, lane, item)))
  if (changes.length > 0) await log.append({ changes, guards: { fence: lease } })
  for (const { loaded, bytes } of found) ports.onRecovered(lane, loaded.id, bytes)
  return held
}

/** Bytes that bump or cancel a signed transaction and are missing in the log. */
async function newerBytes(
  ports: CompareLanePorts,
  lane: Lane,
  one: Outside,
  match: Known | undefined,
): Promise<Found[]> {
  const purpose = match === undefined ? null : purposeOf(match.transaction, one.content)
  if (match === undefined || purpose === null) return []
  const bytes = await read(ports, lane, one)
  return bytes === null || bytes === 'foreign' ? [] : [{ ...match, bytes, purpose }]
}

/** Transactions on chain for requests that wait for their first signature, in order of acceptance. */
async function firstBytes(
  ports: CompareLanePorts,
  lane: Lane,
  ids: readonly string[],
): Promise<{ held: HeldCause | null; found: Found[] }> {
  const { outside, clientOf } = ports
  const waiting = await load(ports.log, new Set(ids))
  const open = [...waiting.values()].filter(({ transaction }) => transaction.state === 'requested')
  const byContent = new Map<string, Known[]>()
  for (const item of open) {
    const content = contentOf(buildCall(item.transaction.intent))
    byContent.set(content, [...(byContent.get(content) ?? []), item])
  }
  const since = open.map(({ transaction }) => transaction.intent.requestedAt).sort()[0]
  const alike = since === undefined ? [] : await outside.alike(lane, [...byContent.keys()], since)
  const found: Found[] = []
  for (const one of alike) {
    const [match] = byContent.get(one.content) ?? []
    if (match === undefined) continue
    if (one.isTaken) return { held: { kind: 'nonce_given', ...seen(one, match) }, found: [] }
    const bytes = await read(ports, lane, one)
    if (bytes === 'foreign') continue
    if (bytes !== null) {
      byContent.get(one.content)?.shift()
      found.push({ ...match, bytes, purpose: null })
    } else if ((await countAt(clientOf(lane.chainId), lane, 'latest')) > one.nonce) {
      return { held: { kind: 'not_returned', ...seen(one, match) }, found: [] }
    }
  }
  return { held: null, found }
}

function seen({ nonce, hash }: Outside, { loaded }: Known) {
  return { nonce, hash, transactionId: loaded.id }
}

type Known = { readonly loaded: Loaded<TransactionState>; readonly transaction: KnownTransaction }
type Found = Known & { readonly bytes: ShownTransaction; readonly purpose: 'bump' | 'cancel' | null }

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

function read({ clientOf }: CompareLanePorts, lane: Lane, { hash }: Outside) {
  return readSigned(clientOf(lane.chainId), { hash, from: lane.address, chainId: lane.chainId })
}

function record({ log }: CompareLanePorts, lane: Lane, { loaded, bytes, purpose }: Found): Change | null {
  const now = log.now()
  const signed = { ...bytes, signedAt: now }
  const command: TransactionCommand =
    purpose === null
      ? { type: 'RecordSignature', signed, recovered: true }
      : { type: 'RecordReplacement', signed, purpose, recovered: true }
  return change(transactionAggregate, loaded, command, {
    metadata: workerMetadata(loaded.state, 'signer', laneName(lane)),
    now,
  })
}
