/**
 * Whether an address may reach a nonce soon, and whether a nonce is a gap. A transfer signed far ahead could be kept by
 * whoever collected the signature, and sent long after its owner has forgotten it.
 *
 * Invariant: a row of the log proves nothing. The party's own journal, bytes that the wallet's key signed, and the chain do.
 */
import type { Row } from '../event-log/table-rows.ts'
import { sameHex } from '../keys/coverage.ts'
import type { SigningJournal } from '../keys/mpc/signing-journal.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import type { Lane } from '../transactions/lanes.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import { newestAttempt } from '../transactions/state.ts'
import type { TagKeys } from '../transactions/tags.ts'
import { unprovenBytes } from '../transactions/unproven-bytes.ts'
import type { Kernel } from './kernel.ts'

/**
 * A lane requests 32 signatures before it records the first, with the lowest free nonces; twice that allows for nonces
 * used by foreign transactions.
 */
const MOST_AHEAD = 64

/** Rows at the highest nonces that are read: forged ones above the proven one only cost a question to a node. */
const ROWS_READ = 8

/** The journal is that of this party. */
export type NonceContext = Pick<Kernel, 'log' | 'pool' | 'chains'> & {
  readonly journal: Pick<SigningJournal, 'highestOf'>
  readonly keys: TagKeys
}

/**
 * Whether the address may reach a nonce soon. Checks the party's journal first, then the log, and a node only for an address that
 * other programs send from too.
 *
 * @throws Unavailable when neither the party nor the log knows the nonce, and no node answers
 */
export async function isNear(ctx: NonceContext, lane: Lane, nonce: number): Promise<boolean> {
  const isWithin = (highest: number) => nonce <= highest + MOST_AHEAD
  if (isWithin(ctx.journal.highestOf(lane.chainId, lane.address))) return true
  if (isWithin(await highestInLog(ctx, lane))) return true
  const chain = ctx.chains.byChainId(lane.chainId)
  if (chain === undefined) return false
  return isWithin((await chain.client.transactionCount(lane.address)) - 1)
}

/** Whether something was signed with a higher nonce, which waits for this one. */
export async function isGap(ctx: NonceContext, lane: Lane, nonce: number): Promise<boolean> {
  return nonce < ctx.journal.highestOf(lane.chainId, lane.address) || nonce < (await highestInLog(ctx, lane))
}

/** The highest signed nonce: rows locate transactions, whose recorded bytes must prove it. */
async function highestInLog({ log, pool, keys }: NonceContext, lane: Lane): Promise<number> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'highest_nonces',
    text: `SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE chain_id = $1 AND from_address = $2 AND nonce IS NOT NULL
            ORDER BY nonce DESC LIMIT ${ROWS_READ}`,
    values: [lane.chainId, lane.address],
  })
  const found = await log.loadChecked(
    transactionAggregate,
    rows.map(({ transaction_id: id }) => id),
  )
  const nonces = found.map(({ id, state, broken }) => {
    if (broken !== null || state.state === 'unknown') return -1
    const { chainId, from } = state.intent
    if (chainId !== lane.chainId || !sameHex(from, lane.address)) return -1
    return unprovenBytes(state, id, keys) === null ? (newestAttempt(state)?.nonce ?? -1) : -1
  })
  return Math.max(-1, ...nonces)
}
