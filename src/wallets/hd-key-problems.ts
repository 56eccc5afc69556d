/**
 * Whether hd wallets may use the keys that their streams name. Invariant: a wallet uses an index of a seed only if the
 * stream of the indexes of this seed assigned it to this wallet before any other.
 */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { chainProblem } from '../event-log/chain-check.ts'
import { EVENT_COLUMNS, type EventRow, STORED_TEXTS } from '../event-log/rows.ts'
import { EVENTS } from '../event-log/sql.ts'
import { sameHex } from '../keys/coverage.ts'
import { keyIndexesAggregate } from './key-indexes.ts'
import type { KeyIndexAllotted } from './key-indexes-events.ts'
import type { WalletFacts } from './wallet-facts.ts'

type HdWallet = Pick<WalletFacts, 'walletId' | 'address'> & { readonly stream: string; readonly index: number }

/** The event that assigned an index first, with the hash of the event before it in its stream. */
type Allotment = EventRow & { readonly previous: Buffer | null }

/** One index lookup for each wallet, in one query; none for wallets with other keys. */
export async function hdKeyProblems(
  { pool }: Pick<Context, 'pool'>,
  wallets: readonly WalletFacts[],
): Promise<ReadonlyMap<string, string>> {
  const named = wallets.flatMap(({ walletId, address, key }): HdWallet[] =>
    key?.kind === 'hd'
      ? [{ walletId, address, stream: `${keyIndexesAggregate.category}-${key.tenantId}`, index: key.index }]
      : [],
  )
  if (named.length === 0) return new Map()
  const allotments = await readAllotments(pool, named)
  return new Map(
    named.flatMap((wallet): [string, string][] => {
      const problem = problemOf(wallet, allotments.get(nameOf(wallet.stream, wallet.index)))
      return problem === null ? [] : [[wallet.walletId, problem]]
    }),
  )
}

function problemOf({ walletId, index, address }: HdWallet, allotment: Allotment | undefined): string | null {
  if (allotment === undefined)
    return `Wallet ${walletId} names the key index ${index}, which the log assigns to no wallet.`
  const { previous, ...event } = allotment
  const before = { version: event.stream_version - 1, hash: previous?.toString('hex') ?? '' }
  const broken = chainProblem(before, event)
  if (broken !== null) return broken
  const data = event.data as KeyIndexAllotted['data']
  if (data.walletId !== walletId)
    return `Wallet ${walletId} names the key index ${index}, which the log assigns to wallet ${data.walletId}.`
  return sameHex(data.address, address ?? '')
    ? null
    : `Wallet ${walletId} has the address ${address}, but the log assigns its key index with the address ${data.address}.`
}

async function readAllotments(pool: Pool, wallets: readonly HdWallet[]): Promise<ReadonlyMap<string, Allotment>> {
  const { rows } = await pool.query<Allotment>({
    name: 'key_allotments',
    // The index `events_key_indexes` finds the first event of each.
    text: `SELECT e.*, (SELECT p.hash FROM ${EVENTS} AS p WHERE p.stream_id = e.stream_id AND p.stream_version = e.stream_version - 1) AS previous
             FROM unnest($1::text[], $2::text[]) AS wanted(stream, key_index) CROSS JOIN LATERAL
               (SELECT ${EVENT_COLUMNS} FROM ${EVENTS} AS events WHERE type = '${'KeyIndexAllotted' satisfies KeyIndexAllotted['type']}'
                   AND stream_id = wanted.stream AND data->>'index' = wanted.key_index ORDER BY stream_version LIMIT 1) AS e`,
    values: [wallets.map(({ stream }) => stream), wallets.map(({ index }) => String(index))],
    types: STORED_TEXTS,
  })
  return new Map(rows.map((row) => [nameOf(row.stream_id, (row.data as KeyIndexAllotted['data']).index), row]))
}

function nameOf(stream: string, index: number): string {
  return `${stream} ${index}`
}
