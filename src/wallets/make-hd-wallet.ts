/**
 * Gives a requested wallet its address: the next key of its tenant's seed. Runs in the signer process, as a job.
 *
 * Invariant: a wallet gets one key and a key belongs to one wallet, however often and wherever the job runs, because
 * the index and the address are appended together under both streams' versions. After a restore of the database the
 * next index is of a range that the restored log has never used.
 */
import type { Context } from '../context.ts'
import type { InTurn } from '../core/in-turn.ts'
import { decideOn, type Loaded, unopened, upcast } from '../event-log/aggregate.ts'
import { repeatOnConflict } from '../event-log/commit.ts'
import { readRanges } from '../event-log/read-logged.ts'
import { hdPath } from '../keys/hd-path.ts'
import type { KeyMaker } from '../keys/signer.ts'
import { isAddressTaken } from './address-taken.ts'
import { walletAggregate } from './aggregate.ts'
import { KEY_RANGE_SIZE, type KeyIndexesState, keyIndexesAggregate, needsRange } from './key-indexes.ts'
import type { KeyIndexesEvent } from './key-indexes-events.ts'
import { loadRequest } from './load-request.ts'

type HdWalletContext = Pick<Context, 'pool' | 'log'> & {
  readonly signer: KeyMaker
  /** How often there was evidence that the database was restored, now. */
  readonly restores: () => Promise<number>
  /** A random number from 0 to 1, without 1. */
  readonly draw: () => number
  /** The assignments of one tenant in this process wait for each other instead of conflicting in the log. */
  readonly inTurn: InTurn
}

/** @throws NotFound for an unknown wallet; Unavailable when the keystore does not answer: the job is retried */
export async function makeHdWallet(ctx: HdWalletContext, walletId: string): Promise<void> {
  const { metadata } = await loadRequest(ctx.log, walletId)
  // The failure of another wallet belongs to its own job.
  await ctx.inTurn(metadata.tenantId, () => repeatOnConflict(() => allot(ctx, walletId)))
}

/** @throws StreamConflict when another signer took the index first */
async function allot(ctx: HdWalletContext, walletId: string): Promise<void> {
  const { log, signer } = ctx
  const { wallet, metadata } = await loadRequest(log, walletId)
  if (wallet.state.status !== 'requested' || wallet.state.type !== 'hd' || wallet.state.openedFrom !== null) return
  const { tenantId } = metadata
  const restores = await ctx.restores()
  const indexes = await loadKeyIndexes(ctx, tenantId)
  if (needsRange(indexes.state, restores)) {
    const whole = await log.load(keyIndexesAggregate, tenantId)
    const now = log.now()
    const range = { type: 'StartRange', restores, draw: ctx.draw(), now } as const
    await log.commit([decideOn(keyIndexesAggregate, whole, range, { metadata, now })])
    return allot(ctx, walletId)
  }
  const index = indexes.state.next
  const { key, address } = await signer.createKey({ kind: 'hd', tenantId, index })
  const now = log.now()
  const context = { metadata, now }
  const ofMpcKeys = { publicKey: null, threshold: null, parties: null }
  const created = { address, key, derivationPath: hdPath(index), createdAt: now, ...ofMpcKeys }
  const allotted = decideOn(keyIndexesAggregate, indexes, { type: 'Allot', walletId, address, now }, context)
  const recorded = decideOn(walletAggregate, wallet, { type: 'RecordKey', created }, context)
  try {
    await log.commit<unknown>([allotted, recorded])
  } catch (error) {
    if (!isAddressTaken(error)) throw error
    await log.commit([decideOn(keyIndexesAggregate, indexes, { type: 'Skip', address, now }, context)])
    await allot(ctx, walletId)
  }
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
