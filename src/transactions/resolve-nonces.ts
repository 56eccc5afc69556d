/**
 * Finds nonces of ours that a stranger's transaction took. The proof is that transaction itself, in a finalized block: a
 * count that is past the nonce, or a receipt that is missing, may be a node that lost or lags.
 *
 * Invariant: this is the only proof on which a new nonce may be signed.
 */
import { toQuantity } from '../chain/hex.ts'
import { type RpcReader, resultValue } from '../chain/json-rpc.ts'
import type { Lease } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import type { BlockReads } from './block-reads.ts'
import { type Consumer, findConsumer } from './find-consumer.ts'
import { decideEach } from './observe-blocks.ts'
import { transactionAggregate } from './projection.ts'
import { isUnmined } from './state.ts'

/** Nonces whose consumer is searched for in one round: some ten calls each, one after the other. */
const MAX_SUSPECTS = 32

export type ResolveNoncesPorts = {
  readonly reads: BlockReads
  readonly log: EventLog
  readonly client: RpcReader
  /** The hash of a block that was walked; `null` when it was forgotten, as all are that no reorg reaches any more. */
  readonly walkedHash: (chainId: number, block: number) => Promise<string | null>
}

/**
 * One round for a chain.
 *
 * @param finalized number of a block that the follower has walked and that is deep enough to be final
 * @param quietSince transactions that changed later are left alone: the follower may just be about to see them
 * @returns how many nonces were found to be lost
 */
export async function resolveNonces(
  { reads, log, client, walkedHash }: ResolveNoncesPorts,
  chainId: number,
  finalized: number,
  quietSince: Date,
  lease: Lease,
): Promise<number> {
  const quiet = await reads.quiet(chainId, quietSince)
  // The node may be on another branch than the follower by now; a block whose hash was forgotten is final on any of them.
  const isWalked = async ({ blockNumber, blockHash }: Consumer) =>
    [null, blockHash].includes(await walkedHash(chainId, blockNumber))
  const used = await usedNonces(client, [...new Set(quiet.map(({ address }) => address))], finalized)
  const suspects = quiet.filter(({ address, nonce }) => nonce < (used.get(address) ?? 0)).slice(0, MAX_SUSPECTS)
  if (suspects.length === 0) return 0
  const loaded = await log.loadMany(
    transactionAggregate,
    suspects.map(({ id }) => id),
  )
  const strangers = new Map<string, number>()
  for (const { id, state } of loaded) {
    const attempt = state.state === 'unknown' || !isUnmined(state) ? undefined : state.attempts[0]
    if (state.state === 'unknown' || attempt === undefined) continue
    const consumer = await findConsumer(client, { address: state.intent.from, nonce: attempt.nonce }, finalized)
    // One of our versions is in a block: the follower records it when it walks there.
    if (consumer === null || state.attempts.some(({ hash }) => hash === consumer.hash)) continue
    if (await isWalked(consumer)) strangers.set(id, attempt.nonce)
  }
  const changes = decideEach(log, loaded, ({ id }) => {
    const nonce = strangers.get(id)
    return nonce === undefined ? null : { type: 'RecordForeignNonce', nonce, finalizedBlock: finalized, now: log.now() }
  })
  if (changes.length > 0) await log.append({ changes, guards: { fence: lease } })
  return changes.length
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
