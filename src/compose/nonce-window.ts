/**
 * Whether an address may reach a nonce soon. A transfer signed far ahead could be kept by whoever collected the
 * signature, and sent long after its owner has forgotten it.
 */
import type { Pool } from 'pg'
import { readCount } from '../chain/hex.ts'
import { rpcCall } from '../chain/json-rpc.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { SigningJournal } from '../keys/mpc/signing-journal.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import type { Lane } from '../transactions/lanes.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import { newestAttempt } from '../transactions/state.ts'
import type { Kernel } from './kernel.ts'

/**
 * A lane requests 32 signatures before it records the first, with the lowest free nonces; twice that allows for nonces
 * used by foreign transactions.
 */
const MOST_AHEAD = 64

/** @throws Unavailable when neither the party nor the log knows the nonce, and no node answers */
export type NonceWindow = (lane: Lane, nonce: number) => Promise<boolean>

/** Checks the party's journal first, then the log, and a node only for an address that other programs send from too. */
export function composeNonceWindow(
  { log, pool, chains }: Kernel,
  journal: Pick<SigningJournal, 'highestOf'>,
): NonceWindow {
  return async (lane, nonce) => {
    const isNear = (highest: number) => nonce <= highest + MOST_AHEAD
    if (isNear(journal.highestOf(lane.chainId, lane.address))) return true
    if (isNear(await highestInLog({ log, pool }, lane))) return true
    const chain = chains.byChainId(lane.chainId)
    if (chain === undefined) return false
    const used = await rpcCall(chain.client, 'eth_getTransactionCount', [lane.address, 'latest'])
    return isNear(readCount(used, 'a transaction count') - 1)
  }
}

/** The highest signed nonce: the row locates the transaction, whose events must confirm it. */
async function highestInLog(
  { log, pool }: { readonly log: EventLog; readonly pool: Pool },
  lane: Lane,
): Promise<number> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'highest_nonce',
    text: `SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE chain_id = $1 AND from_address = $2 AND nonce IS NOT NULL
            ORDER BY nonce DESC LIMIT 1`,
    values: [lane.chainId, lane.address],
  })
  const id = rows[0]?.transaction_id
  if (id === undefined) return -1
  const [found] = await log.loadChecked(transactionAggregate, [id])
  if (found === undefined || found.broken !== null || found.state.state === 'unknown') return -1
  const { intent } = found.state
  if (intent.chainId !== lane.chainId || intent.from !== lane.address) return -1
  return newestAttempt(found.state)?.nonce ?? -1
}
