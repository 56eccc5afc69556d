/**
 * Gives requested wallets their addresses: the next keys of their tenant's seed. Runs in the signer process, as a job of one of
 * them: it serves others of the tenant that wait with it, so that a batch of a thousand takes a few appends.
 *
 * Invariant: a wallet gets one key and a key belongs to one wallet, however often and wherever the job runs, because
 * the index and the address are appended together under both streams' versions. After a restore of the database the
 * next index is of a range that the restored log has never used.
 */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import type { InTurn } from '../core/in-turn.ts'
import { decideOn, type Loaded, unopened, upcast } from '../event-log/aggregate.ts'
import { repeatOnConflict } from '../event-log/commit.ts'
import { readRanges } from '../event-log/read-logged.ts'
import type { Row } from '../event-log/table-rows.ts'
import { hdPath } from '../keys/hd-path.ts'
import type { CreatedKey, KeyMaker } from '../keys/signer.ts'
import { isAddressTaken } from './address-taken.ts'
import { walletAggregate } from './aggregate.ts'
import { KEY_RANGE_SIZE, type KeyIndexesState, keyIndexesAggregate, leftIn, needsRange } from './key-indexes.ts'
import type { KeyIndexesEvent } from './key-indexes-events.ts'
import { type LoadedRequest, loadRequest, loadRequests } from './load-request.ts'
import { REQUESTED } from './sql.ts'
import type { WalletState } from './state.ts'

type HdWalletContext = Pick<Context, 'pool' | 'log'> & {
  readonly signer: KeyMaker
  /** How often there was evidence that the database was restored, now. */
  readonly restores: () => Promise<number>
  /** A random number from 0 to 1, without 1. */
  readonly draw: () => number
  /** The assignments of one tenant in this process wait for each other instead of conflicting in the log. */
  readonly inTurn: InTurn
}

/** In one append, for which other appends of the process wait. */
const MOST_AT_ONCE = 256
/** After so many keys the event loop gets a turn, so that leases can be renewed. */
const KEYS_PER_TURN = 50

/** @throws NotFound for an unknown wallet; Unavailable when the keystore does not answer: the job is retried */
export async function makeHdWallet(ctx: HdWalletContext, walletId: string): Promise<void> {
  const { metadata } = await loadRequest(ctx.log, walletId)
  const { tenantId } = metadata
  // The failure of another wallet belongs to its own job.
  await ctx.inTurn(tenantId, async () => {
    const { wallet } = await loadRequest(ctx.log, walletId)
    if (!isWaiting(wallet.state)) return
    await repeatOnConflict(async () => allot(ctx, tenantId, await findWaiting(ctx.pool, tenantId, walletId)))
  })
}

function isWaiting(state: WalletState): boolean {
  return state.status === 'requested' && state.type === 'hd' && state.openedFrom === null
}

/** The wallet of the job first, then the oldest others of the tenant. */
async function findWaiting(pool: Pool, tenantId: string, first: string): Promise<readonly string[]> {
  const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id'>>({
    name: 'waiting_hd_wallets',
    text: `SELECT wallet_id FROM wallets WHERE tenant_id = $1 AND ${REQUESTED} AND type = 'hd' AND opened_from IS NULL
              AND wallet_id <> $2 ORDER BY wallet_id LIMIT ${MOST_AT_ONCE - 1}`,
    values: [tenantId, first],
  })
  return [first, ...rows.map(({ wallet_id }) => wallet_id)]
}

/** @throws StreamConflict when another signer took the next index, or gave one of the wallets its key, first */
async function allot(ctx: HdWalletContext, tenantId: string, walletIds: readonly string[]): Promise<void> {
  const { log } = ctx
  const waiting = (await loadRequests(ctx, walletIds)).filter(
    ({ wallet, metadata }) => metadata.tenantId === tenantId && isWaiting(wallet.state),
  )
  const [first] = waiting
  if (first === undefined) return
  const { metadata } = first
  const restores = await ctx.restores()
  const indexes = await loadKeyIndexes(ctx, tenantId)
  if (needsRange(indexes.state, restores)) {
    const whole = await log.load(keyIndexesAggregate, tenantId)
    const now = log.now()
    const range = { type: 'StartRange', restores, draw: ctx.draw(), now } as const
    await log.commit([decideOn(keyIndexesAggregate, whole, range, { metadata, now })])
    return allot(ctx, tenantId, walletIds)
  }
  const served = waiting.slice(0, leftIn(indexes.state))
  const keys = await createKeys(ctx.signer, { tenantId, from: indexes.state.next, count: served.length })
  const now = log.now()
  try {
    await log.commit<unknown>(allotments(indexes, served, keys, now))
  } catch (error) {
    if (!isAddressTaken(error)) throw error
    // One of them is: the others go on without it.
    if (served.length > 1) {
      const half = served.slice(0, Math.ceil(served.length / 2))
      return allot(
        ctx,
        tenantId,
        half.map(({ wallet }) => wallet.id),
      )
    }
    const address = keys[0]?.address ?? ''
    await log.commit([decideOn(keyIndexesAggregate, indexes, { type: 'Skip', address, now }, { metadata, now })])
    await allot(ctx, tenantId, walletIds)
  }
}

/** Invariant: the indexes and the addresses are one append. */
function allotments(
  indexes: Loaded<KeyIndexesState>,
  served: readonly LoadedRequest[],
  keys: readonly CreatedKey[],
  now: string,
) {
  const given = served.flatMap((request, n) => {
    const key = keys[n]
    return key === undefined ? [] : [{ ...request, ...key, index: indexes.state.next + n }]
  })
  const [first] = given
  if (first === undefined) return []
  const wallets = given.map(({ wallet, address }) => ({ walletId: wallet.id, address }))
  const ofMpcKeys = { publicKey: null, threshold: null, parties: null }
  return [
    decideOn(keyIndexesAggregate, indexes, { type: 'Allot', wallets, now }, { metadata: first.metadata, now }),
    ...given.map(({ wallet, metadata, key, address, index }) => {
      const created = { address, key, derivationPath: hdPath(index), createdAt: now, ...ofMpcKeys }
      return decideOn(walletAggregate, wallet, { type: 'RecordKey', created }, { metadata, now })
    }),
  ]
}

async function createKeys(
  signer: KeyMaker,
  { tenantId, from, count }: { readonly tenantId: string; readonly from: number; readonly count: number },
): Promise<readonly CreatedKey[]> {
  const keys: CreatedKey[] = []
  for (let n = 0; n < count; n += 1) {
    keys.push(await signer.createKey({ kind: 'hd', tenantId, index: from + n }))
    if (keys.length % KEYS_PER_TURN === 0) await new Promise(setImmediate)
  }
  return keys
}

/**
 * The aggregate from one event of its stream, or two: each event uses the index after the one before it, except the
 * first of a range. Of the ranges the state has only the newest.
 */
export async function loadKeyIndexes(
  { pool, log }: Pick<Context, 'pool' | 'log'>,
  tenantId: string,
): Promise<Loaded<KeyIndexesState>> {
  const streamId = `${keyIndexesAggregate.category}-${tenantId}`
  const eventAt = async (version: number) => {
    const [row] = await readRanges(pool, [{ streamId, from: version, to: version }], 1)
    if (row === undefined) return null
    const { type, schema_version, data } = row
    return upcast<KeyIndexesEvent>(keyIndexesAggregate.schemas, type, schema_version, data)
  }
  const initial = unopened(keyIndexesAggregate, tenantId)
  const [head] = await log.heads([streamId])
  const newest = head && head.version > 0 ? await eventAt(head.version) : null
  if (head === undefined || newest === null) return initial
  const at = (state: KeyIndexesState) => ({ ...initial, ...head, state })
  if (newest.type === 'KeyIndexRangeStarted') return at(keyIndexesAggregate.evolve(initial.state, newest))
  const { index } = newest.data
  const inRange = index % KEY_RANGE_SIZE
  if (index === inRange) return at(keyIndexesAggregate.evolve(initial.state, newest))
  const started = await eventAt(head.version - inRange - 1)
  if (started?.type !== 'KeyIndexRangeStarted') return log.load(keyIndexesAggregate, tenantId)
  return at([started, newest].reduce(keyIndexesAggregate.evolve, initial.state))
}
