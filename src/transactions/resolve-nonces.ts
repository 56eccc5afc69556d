/**
 * Finds what used a nonce of a transaction that was not seen in a block. If it was a foreign transaction, the proof
 * must be in a finalized block that a quorum names: a transaction count past the nonce, or a missing receipt, may come
 * from nodes that lost data or lag. Before that every node is asked for receipts of all our own versions. If it was our
 * own, its block was never processed, and is now.
 *
 * First come the follower's records of processed blocks, which need no historic state; the rest is searched for.
 * Neither step stops at what cannot be found: the next round continues after it.
 *
 * Invariant: this is the only proof on which a new nonce may be signed.
 */
import { readAgreedBlocks } from '../chain/agreed-blocks.ts'
import type { Nodes } from '../chain/agreement.ts'
import type { Block } from '../chain/blocks.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { agreedCounts } from '../chain/transaction-counts.ts'
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import { type Decision, type Loaded, notHeld, type ReadModelRow } from '../event-log/aggregate.ts'
import type { Lease } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { recoveredAddress } from '../keys/recovered-address.ts'
import { transactionAggregate } from './aggregate.ts'
import type { QuietTransaction } from './block-reads.ts'
import { contentOf, purposeOf } from './content.ts'
import { type AccountNonce, type Consumer, consumerIn, findConsumer, ownConsumer } from './find-consumer.ts'
import { missingAlone } from './kind-rules.ts'
import { decideEach, type ObserveContext, observeTransactions } from './observe-blocks.ts'
import { outsideOf, outsideRow } from './outside.ts'
import { isUnmined, type KnownTransaction, type TransactionState } from './state.ts'

/** Nonces searched for in one round: about ten calls each, sequentially. */
const MAX_SUSPECTS = 32
const FIRST_CONTESTED = { id: '', block: -1 }

/** The chain, and where a search that failed is reported. */
type Searching = {
  readonly settings: Pick<ChainSettings, 'chainId' | 'network'>
  readonly logger: Pick<Context['logger'], 'warn'>
}

/** The result of a round. */
export type Resolved = {
  /** Nonces used by foreign transactions. */
  readonly lost: number
  /** Transactions in blocks that were not processed: those from before the chain was followed. */
  readonly found: number
}

/**
 * One round for a chain.
 *
 * @param finalized number of a block that the follower has processed and that is deep enough to be final
 * @param quietMs transactions changed more recently are skipped: the follower may be about to see them
 */
export type ResolveNonces = (finalized: number, quietMs: number, lease: Lease) => Promise<Resolved>

export function createResolveNonces(
  ctx: ObserveContext &
    Searching & {
      readonly client: Nodes
      /** The hash of a processed block; `null` when it was deleted, as all are that no reorg can reach. */
      readonly walkedHash: (chainId: number, block: number) => Promise<string | null>
      /** Runs while no step over blocks is committed. */
      readonly inTurn: <Result>(task: () => Promise<Result>) => Promise<Result>
    },
): ResolveNonces {
  const { log, reads, client, settings } = ctx
  const { chainId } = settings
  let contestedAfter = FIRST_CONTESTED
  let round = 0

  /** By transaction, the users of nonces in the blocks that the follower recorded. */
  async function recorded(finalized: number): Promise<Map<string, Consumer>> {
    const noted = await reads.contested(chainId, finalized, contestedAfter)
    contestedAfter = noted.at(-1) ?? FIRST_CONTESTED
    const states = await statesOf(log, noted)
    return consumersOf(ctx, noted, (item) => noteOf(client, { chainId, ...item }, states.get(item.id), finalized))
  }

  /** By transaction, the result of a search for nonces that are used at the finalized block. */
  async function searched(finalized: number, quietMs: number): Promise<Map<string, Consumer>> {
    const quiet = await reads.quiet(chainId, quietMs)
    const used = await usedNonces(client, [...new Set(quiet.map(({ address }) => address))], finalized)
    const suspects = quiet.filter(({ address, nonce }) => nonce < (used.get(address) ?? 0))
    // Each round starts at another place: nonces that cannot be found must not block the others.
    const from = suspects.length === 0 ? 0 : (round * MAX_SUSPECTS) % suspects.length
    const now = [...suspects.slice(from), ...suspects.slice(0, from)].slice(0, MAX_SUSPECTS)
    round += 1
    const states = await statesOf(log, now)
    return consumersOf(ctx, now, (item) => search(client, { chainId, ...item }, states.get(item.id), finalized))
  }

  return async (finalized, quietMs, lease) => {
    const known = await recorded(finalized)
    const first = await settle(ctx, chainId, known, finalized, lease)
    const second = await settle(ctx, chainId, await searched(finalized, quietMs), finalized, lease)
    return { lost: first.lost + second.lost, found: first.found + second.found }
  }
}

type Suspect = QuietTransaction & AccountNonce

/**
 * The block that the follower recorded; an authorization in it counts only if none of our versions can have used the
 * nonce before.
 */
async function noteOf(
  client: Nodes,
  suspect: Suspect & { readonly block: number },
  state: KnownTransaction | undefined,
  finalized: number,
): Promise<Consumer | null> {
  if (state?.attempts[0]?.nonce !== suspect.nonce) return null
  const consumer = await consumerIn(client, suspect, suspect.block)
  if (consumer === null) return null
  if (consumer.kind === 'authorization') {
    const used = await usedNonces(client, [suspect.address], finalized)
    if ((used.get(suspect.address) ?? 0) <= suspect.nonce) return null
  }
  return (await ownIn(client, suspect, state, finalized)) ?? consumer
}

async function search(
  client: Nodes,
  suspect: Suspect,
  state: KnownTransaction | undefined,
  finalized: number,
): Promise<Consumer | null> {
  if (state?.attempts[0]?.nonce !== suspect.nonce) return null
  return (await ownIn(client, suspect, state, finalized)) ?? findConsumer(client, suspect, finalized)
}

/** A version of ours in a block that any node names. */
function ownIn(
  client: Nodes,
  suspect: Suspect,
  { attempts }: KnownTransaction,
  finalized: number,
): Promise<Consumer | null> {
  const hashes = attempts.map(({ hash }) => hash)
  return ownConsumer(client, suspect, hashes, finalized)
}

/** The result for each; a failed search does not affect the others, a node that does not answer ends the round. */
async function consumersOf<Item extends QuietTransaction>(
  { logger, settings }: Searching,
  items: readonly Item[],
  find: (item: Item) => Promise<Consumer | null>,
): Promise<Map<string, Consumer>> {
  const consumers = new Map<string, Consumer>()
  for (const item of items) {
    try {
      const consumer = await find(item)
      if (consumer !== null) consumers.set(item.id, consumer)
    } catch (error) {
      // What is not proven of one block says nothing of the others.
      if (error instanceof Unavailable && error.code !== 'block_inconsistent') throw error
      // It is checked again in a later round.
      const { address, nonce } = item
      const fields = { err: error, network: settings.network, address, nonce }
      logger.warn(fields, 'cannot find the transaction that used a nonce; will retry')
    }
  }
  return consumers
}

/** The transactions that are in no block, by id. */
async function statesOf(log: EventLog, items: readonly QuietTransaction[]): Promise<Map<string, KnownTransaction>> {
  if (items.length === 0) return new Map()
  const loaded = notHeld(await log.loadMany(transactionAggregate, [...new Set(items.map(({ id }) => id))]))
  return new Map(
    loaded.flatMap(({ id, state }) => (state.state === 'unknown' || !isUnmined(state) ? [] : [[id, state] as const])),
  )
}

async function settle(
  ctx: Parameters<typeof createResolveNonces>[0],
  chainId: number,
  consumers: ReadonlyMap<string, Consumer>,
  finalized: number,
  lease: Lease,
): Promise<Resolved> {
  if (consumers.size === 0) return { lost: 0, found: 0 }
  const { log, client } = ctx
  const loaded = notHeld(await log.loadMany(transactionAggregate, [...consumers.keys()]))
  const blocks = await missedBlocks(client, loaded, consumers)
  // Serialized: between reading the processed blocks and the append, no processed block may be undone.
  return ctx.inTurn(async () => {
    const walked = new Set<string>()
    for (const [id, { blockNumber, blockHash }] of consumers)
      if ([null, blockHash].includes(await ctx.walkedHash(chainId, blockNumber))) walked.add(id)
    const lost = strangersOf(log, loaded, consumers, walked, finalized)
    const standing = blocks.filter(({ hash }) => [...walked].some((id) => consumers.get(id)?.blockHash === hash))
    const missed = { ...ctx, kinds: missingAlone(ctx.kinds) }
    const { decisions: found } = await observeTransactions(missed, chainId, standing)
    const rows = forgottenOf(chainId, loaded, consumers, walked)
    await log.commit({ decisions: [...lost, ...found], rows }, { fence: lease })
    return { lost: lost.length, found: found.length }
  })
}

function isOurs({ state }: Loaded<TransactionState>, consumer: Consumer): boolean {
  return state.state !== 'unknown' && state.attempts.some(({ hash }) => hash === consumer.hash)
}

/**
 * Perhaps newer bytes of its own that are missing in the log: the lane's signer, which knows tags, records them, or that
 * they are another program's.
 */
function mayBeOurs({ state }: Loaded<TransactionState>, { kind, hash, to, value, input }: Consumer): boolean {
  return (
    state.state !== 'unknown' &&
    kind === 'transaction' &&
    !state.rejected.includes(hash) &&
    purposeOf(state, contentOf({ to, value, data: input })) !== null
  )
}

/** Rows by which the lane finds them, for blocks processed before such rows were written. */
function forgottenOf(
  chainId: number,
  loaded: readonly Loaded<TransactionState>[],
  consumers: ReadonlyMap<string, Consumer>,
  walked: ReadonlySet<string>,
): ReadModelRow[] {
  return loaded.flatMap((item) => {
    const consumer = consumers.get(item.id)
    if (consumer === undefined || item.state.state === 'unknown' || !walked.has(item.id)) return []
    if (isOurs(item, consumer) || !mayBeOurs(item, consumer)) return []
    const { blockNumber: number, timestamp } = consumer
    return outsideRow(chainId, item.state.intent.from, outsideOf(consumer), { number, timestamp })
  })
}

function strangersOf(
  log: EventLog,
  loaded: readonly Loaded<TransactionState>[],
  consumers: ReadonlyMap<string, Consumer>,
  walked: ReadonlySet<string>,
  finalized: number,
): Decision<TransactionState>[] {
  return decideEach(log, loaded, (item) => {
    const consumer = consumers.get(item.id)
    if (consumer === undefined || isOurs(item, consumer) || !walked.has(item.id)) return null
    if (mayBeOurs(item, consumer)) return null
    const { nonce, hash, blockNumber, blockHash } = consumer
    const takenBy = { hash, blockNumber, blockHash }
    return { type: 'RecordForeignNonce', nonce, finalizedBlock: finalized, takenBy, now: log.now() }
  })
}

/**
 * The blocks in which a version of ours used its nonce without being recorded. They are final and were processed, or
 * are older than the first processed block, so nothing else will record them.
 */
async function missedBlocks(
  client: Nodes,
  loaded: readonly Loaded<TransactionState>[],
  consumers: ReadonlyMap<string, Consumer>,
): Promise<Block[]> {
  const wanted = new Map<number, string>()
  for (const item of loaded) {
    const consumer = consumers.get(item.id)
    if (consumer !== undefined && isOurs(item, consumer)) wanted.set(consumer.blockNumber, consumer.blockHash)
  }
  const read: Block[] = []
  for (const [number, hash] of wanted) {
    const wanted = { from: number, to: number, head: { number, hash }, parentHash: '' }
    const { blocks } = await readAgreedBlocks(client, { recover: recoveredAddress, blockReceipts: false }, wanted)
    read.push(...blocks.filter((block) => block.hash === hash))
  }
  return read.sort((a, b) => a.number - b.number)
}

async function usedNonces(client: Nodes, addresses: readonly string[], block: number): Promise<Map<string, number>> {
  const counts = await agreedCounts(client, addresses, block)
  return new Map(addresses.map((address, index) => [address, counts[index] ?? 0]))
}
