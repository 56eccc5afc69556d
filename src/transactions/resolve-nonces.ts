/**
 * Finds what took a nonce of ours whose transaction nobody saw in a block. If it is a stranger's transaction, the proof is
 * that transaction itself, in a finalized block: a count that is past the nonce, or a receipt that is missing, may be a node
 * that lost or lags. If it is ours, its block was never looked at, and is now.
 *
 * Invariant: this is the only proof on which a new nonce may be signed.
 */
import { type Block, readBlocks } from '../chain/blocks.ts'
import { toQuantity } from '../chain/hex.ts'
import { type RpcReader, resultValue } from '../chain/json-rpc.ts'
import type { Change, Loaded } from '../event-log/aggregate.ts'
import type { Lease } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { type Consumer, findConsumer } from './find-consumer.ts'
import { decideEach, type ObservePorts, observeTransactions } from './observe-blocks.ts'
import { transactionAggregate } from './projection.ts'
import { isUnmined, type TransactionState } from './state.ts'

/** Nonces whose consumer is searched for in one round: some ten calls each, one after the other. */
const MAX_SUSPECTS = 32

export type ResolveNoncesPorts = ObservePorts & {
  readonly client: RpcReader
  /** The hash of a block that was walked; `null` when it was forgotten, as all are that no reorg reaches any more. */
  readonly walkedHash: (chainId: number, block: number) => Promise<string | null>
  /** Runs while no step over blocks is committed. */
  readonly inTurn: <Result>(task: () => Promise<Result>) => Promise<Result>
}

/** What a round found. */
export type Resolved = {
  /** Nonces that strangers took. */
  readonly lost: number
  /** Transactions that stand in blocks in which nobody saw them: those from before the chain was followed. */
  readonly found: number
}

/**
 * One round for a chain.
 *
 * @param finalized number of a block that the follower has walked and that is deep enough to be final
 * @param quietMs transactions that changed less long ago are left alone: the follower may just be about to see them
 */
export async function resolveNonces(
  ports: ResolveNoncesPorts,
  chainId: number,
  finalized: number,
  quietMs: number,
  lease: Lease,
): Promise<Resolved> {
  const { reads, log, client } = ports
  const quiet = await reads.quiet(chainId, quietMs)
  const used = await usedNonces(client, [...new Set(quiet.map(({ address }) => address))], finalized)
  const suspects = quiet.filter(({ address, nonce }) => nonce < (used.get(address) ?? 0)).slice(0, MAX_SUSPECTS)
  if (suspects.length === 0) return { lost: 0, found: 0 }
  const loaded = await log.loadMany(
    transactionAggregate,
    suspects.map(({ id }) => id),
  )
  const consumers = new Map<string, Consumer>()
  for (const { id, state } of loaded) {
    const attempt = state.state === 'unknown' || !isUnmined(state) ? undefined : state.attempts[0]
    if (state.state === 'unknown' || attempt === undefined) continue
    const consumer = await findConsumer(client, { address: state.intent.from, nonce: attempt.nonce }, finalized)
    if (consumer !== null) consumers.set(id, consumer)
  }
  if (consumers.size === 0) return { lost: 0, found: 0 }
  const blocks = await missedBlocks(ports, loaded, consumers)
  // In turn: between the look at what was walked and the append, nothing that was walked may be undone.
  return ports.inTurn(async () => {
    const walked = new Set<string>()
    for (const [id, { blockNumber, blockHash }] of consumers)
      if ([null, blockHash].includes(await ports.walkedHash(chainId, blockNumber))) walked.add(id)
    const lost = strangersOf(log, loaded, consumers, walked, finalized)
    const standing = blocks.filter(({ hash }) => [...walked].some((id) => consumers.get(id)?.blockHash === hash))
    const found = await observeTransactions(ports, chainId, standing)
    const changes = [...lost, ...found]
    if (changes.length > 0) await log.append({ changes, guards: { fence: lease } })
    return { lost: lost.length, found: found.length }
  })
}

function isOurs({ state }: Loaded<TransactionState>, consumer: Consumer): boolean {
  return state.state !== 'unknown' && state.attempts.some(({ hash }) => hash === consumer.hash)
}

function strangersOf(
  log: EventLog,
  loaded: readonly Loaded<TransactionState>[],
  consumers: ReadonlyMap<string, Consumer>,
  walked: ReadonlySet<string>,
  finalized: number,
): Change<TransactionState>[] {
  return decideEach(log, loaded, (item) => {
    const consumer = consumers.get(item.id)
    const nonce = item.state.state === 'unknown' ? undefined : item.state.attempts[0]?.nonce
    if (consumer === undefined || nonce === undefined || isOurs(item, consumer) || !walked.has(item.id)) return null
    return { type: 'RecordForeignNonce', nonce, finalizedBlock: finalized, now: log.now() }
  })
}

/**
 * The blocks in which a version of ours took its nonce. They are final and were walked, or are older than what was ever
 * walked, and it was not recorded: it never will be unless here.
 */
async function missedBlocks(
  { client }: ResolveNoncesPorts,
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
    const { blocks } = await readBlocks(client, { from: number, to: number, blockReceipts: false })
    read.push(...blocks.filter((block) => block.hash === hash))
  }
  return read.sort((a, b) => a.number - b.number)
}

async function usedNonces(
  client: RpcReader,
  addresses: readonly string[],
  block: number,
): Promise<Map<string, number>> {
  const answers = await client.batch(
    addresses.map((address) => ({ method: 'eth_getTransactionCount', params: [address, toQuantity(block)] })),
  )
  return new Map(
    addresses.map((address, index) => [address, Number(resultValue(answers[index], 'eth_getTransactionCount'))]),
  )
}
