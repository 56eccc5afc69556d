/**
 * Reads everything that a transaction's history is shown from: its stream, and related data of the log and the read
 * models.
 */
import type { Pool } from 'pg'
import { nativeAsset } from '../../core/assets.ts'
import { NotFound } from '../../core/errors.ts'
import { apiKeyOf, type RecordedEvent } from '../../core/messages.ts'
import { BrokenChain } from '../../event-log/broken-chain.ts'
import type { EventLog } from '../../event-log/log.ts'
import { EVENTS } from '../../event-log/sql.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { transactionAggregate } from '../../transactions/aggregate.ts'
import type { TransactionEvent } from '../../transactions/all-events.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import type { KnownTransaction } from '../../transactions/state.ts'
import type { WalletKey, WalletType } from '../../wallets/events.ts'
import { WALLETS } from '../../wallets/sql.ts'
import { type FundsThen, readFunds } from './inputs.ts'

export type OtherTransaction = Pick<Row<'transactions'>, 'type' | 'state'> & {
  readonly id: Row<'transactions'>['transaction_id']
}
export type ReorgOfChain = {
  readonly depth: number
  readonly fromBlock: number
  readonly ancestorBlock: number
  /** Why an operator accepted it; `null` if it needed nobody. */
  readonly accepted: string | null
}

export type StoryFacts = {
  readonly id: string
  readonly events: readonly RecordedEvent<TransactionEvent>[]
  /** Why its events end there; `null` if they are all that the log has. */
  readonly held: string | null
  readonly transaction: KnownTransaction
  /** The label of the wallet, and how its key is found. */
  readonly wallet: { readonly label: string; readonly type: WalletType; readonly key: WalletKey | null } | null
  /** Labels of the API keys that made requests, by key id. */
  readonly keyLabels: ReadonlyMap<string, string>
  readonly funds: readonly FundsThen[]
  /** By position of the event that the reorg caused. */
  readonly reorgs: ReadonlyMap<bigint, ReorgOfChain>
  readonly dependsOn: OtherTransaction | null
  readonly dependents: readonly OtherTransaction[]
  /** The newest processed block; `null` when the chain was never followed. */
  readonly head: number | null
}

const MAX_DEPENDENTS = 20

/** @throws NotFound when the log has no such transaction */
export async function readStory(
  { pool, log }: { readonly pool: Pool; readonly log: Pick<EventLog, 'readSound'> },
  id: string,
): Promise<StoryFacts> {
  const { events, held } = await log.readSound<TransactionEvent>(transactionAggregate, id)
  const transaction = events.reduce(transactionAggregate.evolve, transactionAggregate.initialState)
  const [opening] = events
  if (held !== null && opening === undefined) throw new BrokenChain(held)
  if (opening === undefined || transaction.state === 'unknown') throw new NotFound('transaction')
  const { intent } = transaction
  const native = nativeAsset(intent.network, intent.chainId).assetId
  const moment = {
    walletId: intent.walletId,
    transactionId: id,
    position: opening.position,
    at: new Date(opening.recordedAt),
  }
  const [wallet, keyLabels, funds, reorgs, others, head] = await Promise.all([
    readWallet(pool, intent.walletId),
    readKeyLabels(pool, events),
    readFunds(pool, moment, [
      ...new Set([native, ...[intent, ...(intent.outflows ?? [])].map(({ asset }) => asset.assetId)]),
    ]),
    readReorgs(pool, id),
    readOthers(pool, id, intent.dependsOn),
    readHead(pool, intent.chainId),
  ])
  return { id, events, held, transaction, wallet, keyLabels, funds, reorgs, ...others, head }
}

async function readWallet(pool: Pool, walletId: string): Promise<StoryFacts['wallet']> {
  const { rows } = await pool.query<
    Pick<Row<'wallets', { readonly label: string; readonly type: WalletType }>, 'label' | 'type'> & {
      key: WalletKey | null
    }
  >(`SELECT label, type, key_ref AS key FROM ${WALLETS} AS wallets WHERE wallet_id = $1`, [walletId])
  return rows[0] ?? null
}

/** Labels of the API keys that made requests, by key id. */
export async function readKeyLabels(
  pool: Pool,
  events: readonly Pick<RecordedEvent, 'metadata'>[],
): Promise<Map<string, string>> {
  const ids = events.map(({ metadata: { actor } }) => apiKeyOf(actor)).filter((id) => id !== null)
  const { rows } = await pool.query<Pick<Row<'api_keys'>, 'key_id' | 'label'>>(
    'SELECT key_id, label FROM api_keys WHERE key_id = ANY($1)',
    [[...new Set(ids)]],
  )
  return new Map(rows.map(({ key_id: keyId, label }) => [keyId, label]))
}

/** What an operator said between the reorg `r` and the one before, if it was about one as deep as this. */
const ACCEPTED = `
  (SELECT a.data->>'reason' FROM ${EVENTS} a
    WHERE a.stream_id = r.stream_id AND a.type = 'ReorgAccepted' AND a.stream_version < r.stream_version
      AND ((a.data->'final'->>'number')::numeric > (r.data->'ancestor'->>'number')::numeric
           OR a.data->>'genesis' IS NOT NULL AND r.data->'ancestor'->>'number' = '0')
      AND NOT EXISTS (SELECT FROM ${EVENTS} b WHERE b.stream_id = r.stream_id AND b.type = 'ReorgDetected'
                         AND b.stream_version > a.stream_version AND b.stream_version < r.stream_version)
    ORDER BY a.stream_version DESC LIMIT 1)`

/** The reorg is recorded in the same commit as the transaction's reorg event. */
async function readReorgs(pool: Pool, id: string): Promise<Map<bigint, ReorgOfChain>> {
  const { rows } = await pool.query<
    Pick<Row<'events'>, 'position'> & { depth: number; from_block: number; ancestor: number; accepted: string | null }
  >(
    `SELECT e.position, (r.data->>'depth')::integer AS depth, (r.data->'from'->>'number')::double precision AS from_block,
            (r.data->'ancestor'->>'number')::double precision AS ancestor, ${ACCEPTED} AS accepted
       FROM ${EVENTS} e JOIN ${EVENTS} r ON r.transaction_id = e.transaction_id AND r.type = 'ReorgDetected'
        AND r.stream_id = (SELECT 'chain-' || network || '-' || environment FROM ${TRANSACTIONS} AS transactions WHERE transaction_id = $2)
      WHERE e.stream_id = $1 AND e.type IN ('TransactionReorged', 'SettlementRevoked')`,
    [`transaction-${id}`, id],
  )
  return new Map(
    rows.map(({ position, depth, from_block: fromBlock, ancestor, accepted }) => [
      BigInt(position),
      { depth, fromBlock, ancestorBlock: ancestor, accepted },
    ]),
  )
}

async function readOthers(
  pool: Pool,
  id: string,
  dependsOn: string | null,
): Promise<Pick<StoryFacts, 'dependsOn' | 'dependents'>> {
  const { rows } = await pool.query<OtherTransaction>(
    `SELECT transaction_id AS id, type, state FROM ${TRANSACTIONS} AS transactions WHERE transaction_id = $2
      UNION (SELECT transaction_id, type, state FROM ${TRANSACTIONS} AS transactions WHERE depends_on = $1 ORDER BY transaction_id LIMIT ${MAX_DEPENDENTS})`,
    [id, dependsOn],
  )
  return {
    dependsOn: rows.find((row) => row.id === dependsOn) ?? null,
    dependents: rows.filter((row) => row.id !== dependsOn),
  }
}

async function readHead(pool: Pool, chainId: number): Promise<number | null> {
  const { rows } = await pool.query<Pick<Row<'chain_cursors'>, 'number'>>(
    'SELECT number FROM chain_cursors WHERE chain_id = $1',
    [chainId],
  )
  return rows[0] === undefined ? null : Number(rows[0].number)
}
