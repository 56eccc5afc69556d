/**
 * Finds nonces of ours that a stranger's transaction took. The proof is that transaction itself, in a finalized block: a
 * count that is past the nonce, or a receipt that is missing, may be a node that lost or lags.
 *
 * Invariant: this is the only proof on which a new nonce may be signed.
 */
import type { Pool } from 'pg'
import { toQuantity } from '../chain/hex.ts'
import { type RpcReader, resultValue } from '../chain/json-rpc.ts'
import type { Lease } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { type Consumer, findConsumer } from './find-consumer.ts'
import { decideEach } from './observe-blocks.ts'
import { transactionAggregate } from './projection.ts'
import { isUnmined } from './state.ts'

/** Transactions that are looked at in one round. */
const MAX_QUIET = 200
/** Of those, nonces whose consumer is searched for in one round: some ten calls each, one after the other. */
const MAX_SUSPECTS = 32

export type ResolveNoncesPorts = { readonly pool: Pool; readonly log: EventLog; readonly client: RpcReader }

/**
 * One round for a chain.
 *
 * @param finalized number of a block that the follower has walked and that is deep enough to be final
 * @param quietSince transactions that changed later are left alone: the follower may just be about to see them
 * @returns how many nonces were found to be lost
 */
export async function resolveNonces(
  { pool, log, client }: ResolveNoncesPorts,
  chainId: number,
  finalized: number,
  quietSince: Date,
  lease: Lease,
): Promise<number> {
  const { rows } = await pool.query<{ transaction_id: string; from_address: string; nonce: string }>({
    name: 'quiet_transactions',
    text: `SELECT transaction_id, from_address, nonce FROM transactions
            WHERE chain_id = $1 AND state IN ('signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds') AND updated_at < $2
            ORDER BY from_address, nonce LIMIT ${MAX_QUIET}`,
    values: [chainId, quietSince],
  })
  const used = await usedNonces(client, [...new Set(rows.map((row) => row.from_address))], finalized)
  const suspects = rows.filter((row) => Number(row.nonce) < (used.get(row.from_address) ?? 0)).slice(0, MAX_SUSPECTS)
  if (suspects.length === 0) return 0
  const loaded = await log.loadMany(
    transactionAggregate,
    suspects.map((row) => row.transaction_id),
  )
  const strangers = new Map<string, number>()
  for (const { id, state } of loaded) {
    const attempt = state.state === 'unknown' || !isUnmined(state) ? undefined : state.attempts[0]
    if (state.state === 'unknown' || attempt === undefined) continue
    const consumer = await findConsumer(client, { address: state.intent.from, nonce: attempt.nonce }, finalized)
    // One of our versions is in a block: the follower records it when it walks there.
    if (consumer === null || state.attempts.some(({ hash }) => hash === consumer.hash)) continue
    if (await wasWalked(pool, chainId, consumer)) strangers.set(id, attempt.nonce)
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

/** Whether the follower stands on the branch of this block: the node may be on another one by now. */
async function wasWalked(pool: Pool, chainId: number, { blockNumber, blockHash }: Consumer): Promise<boolean> {
  const { rows } = await pool.query<{ hash: string }>({
    name: 'hash_of_block',
    text: 'SELECT hash FROM chain_blocks WHERE chain_id = $1 AND number = $2',
    values: [chainId, blockNumber],
  })
  // Hashes are forgotten when no reorg reaches them any more: such a block is final whatever branch it was once on.
  return rows[0] === undefined || rows[0].hash === blockHash
}
