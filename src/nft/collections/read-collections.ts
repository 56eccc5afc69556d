/** Reads collections for their owner, with the outcome of their transaction. */

import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { NotFound, PermissionDenied } from '../../core/errors.ts'
import type { Network } from '../../core/networks.ts'
import type { Owner } from '../../core/tenants.ts'
import type { ReadOrWrittenRow } from '../../event-log/table-rows.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { WALLETS } from '../../wallets/sql.ts'
import { FATE, type Fate } from '../outcome.ts'
import type { CollectionType, PublishedCollection, Standard } from './events.ts'

/** A row of `nft_collections` with the outcome of its transaction. */
export type CollectionRow = Omit<
  ReadOrWrittenRow<
    'nft_collections',
    {
      readonly standard: Standard
      readonly collection_type: CollectionType
      readonly metadata: PublishedCollection
    }
  >,
  'version'
> &
  Fate

/** What a holder of its tokens uses of a collection. All of it is on chain. */
export type HeldCollection = Pick<
  CollectionRow,
  (typeof HELD_COLUMNS)[number] | 'collection_id' | 'tenant_id' | 'contract_address'
>

/** Omitted fields match everything. */
export type CollectionFilter = {
  readonly network?: Network | undefined
  readonly standard?: Standard | undefined
  readonly collectionType?: CollectionType | undefined
  readonly walletId?: string | undefined
  /** Collections older than the one with this id. */
  readonly before?: string | undefined
  readonly limit: number
}

export type CollectionReads = {
  /**
   * @throws NotFound `collection_not_found`; PermissionDenied `environment_mismatch` when it is the owner's, in the
   *   other environment
   */
  readonly read: (owner: Owner, collectionId: string) => Promise<CollectionRow>
  /**
   * As `read`, for hot paths: a collection whose deployment is confirmed is cached for some seconds. Its other columns never
   * change, and a mint depends on the deployment in its lane, also if a reorg removes it.
   */
  readonly recall: (owner: Owner, collectionId: string) => Promise<CollectionRow>
  /**
   * As `read`; of another owner's collection the public facts, as long as a wallet of this one holds tokens of it: whoever
   * holds a token may transfer it.
   *
   * @param holder the address of the wallet, in any case
   */
  readonly readHeld: (owner: Owner, collectionId: string, holder: string) => Promise<HeldCollection>
  /** Newest first. */
  readonly list: (owner: Owner, filter: CollectionFilter) => Promise<CollectionRow[]>
}

/** How long a deployment that a reorg removed may still count as confirmed. */
const FRESH_MS = 5_000
/** About a kilobyte each. */
const REMEMBERED = 2_000

const HELD_COLUMNS = ['network', 'environment', 'chain_id', 'standard', 'transferable'] as const

const SELECT = `SELECT c.*, ${FATE}
                  FROM nft_collections c JOIN ${TRANSACTIONS} x ON x.transaction_id = c.transaction_id`

export function createCollectionReads(pool: Pool): CollectionReads {
  const remembered = new LRUCache<string, CollectionRow>({ max: REMEMBERED, ttl: FRESH_MS })

  async function read(owner: Owner, collectionId: string): Promise<CollectionRow> {
    const { rows } = await pool.query<CollectionRow>({
      name: 'read_collection',
      text: `${SELECT} WHERE c.collection_id = $1`,
      values: [collectionId],
    })
    const [row] = rows
    if (row?.state === 'confirmed' && row.succeeded) remembered.set(collectionId, row)
    return requireOwned(row, owner)
  }

  return {
    read,
    async recall(owner, collectionId) {
      const known = remembered.get(collectionId)
      return known === undefined ? read(owner, collectionId) : requireOwned(known, owner)
    },
    async readHeld(owner, collectionId, holder) {
      const { rows } = await pool.query<HeldCollection>({
        name: 'read_held_collection',
        text: `SELECT c.collection_id, c.tenant_id, c.contract_address, ${HELD_COLUMNS.map((column) => `c.${column}`).join(', ')}
                 FROM nft_collections c
                WHERE c.collection_id = $1 AND c.tenant_id <> $2 AND c.environment = $3
                  AND EXISTS (SELECT FROM ${WALLETS} w JOIN nft_owners o ON o.chain_id = w.chain_id AND o.owner = w.address
                               WHERE w.tenant_id = $2 AND w.chain_id = c.chain_id AND lower(w.address) = lower($4)
                                 AND o.contract = c.contract_address AND o.amount > 0)`,
        values: [collectionId, owner.tenantId, owner.environment, holder],
      })
      return rows[0] ?? read(owner, collectionId)
    },
    async list({ tenantId, environment }, filter) {
      const { network, standard, collectionType, walletId, before, limit } = filter
      const { rows } = await pool.query<CollectionRow>({
        name: 'list_collections',
        text: `${SELECT} WHERE c.tenant_id = $1 AND c.environment = $2 AND ($3::text IS NULL OR c.collection_id < $3)
                 AND ($4::text IS NULL OR c.network = $4) AND ($5::text IS NULL OR c.standard = $5)
                 AND ($6::text IS NULL OR c.collection_type = $6) AND ($7::text IS NULL OR c.wallet_id = $7)
               ORDER BY c.collection_id DESC LIMIT $8`,
        values: [
          tenantId,
          environment,
          before ?? null,
          network ?? null,
          standard ?? null,
          collectionType ?? null,
          walletId ?? null,
          limit,
        ],
      })
      return rows
    },
  }
}

function requireOwned(row: CollectionRow | undefined, { tenantId, environment }: Owner): CollectionRow {
  if (row === undefined || row.tenant_id !== tenantId) throw new NotFound('collection')
  if (row.environment === environment) return row
  const message = `The API key is for ${environment} but the collection is on ${row.environment}: use a key for ${row.environment}.`
  throw new PermissionDenied('environment_mismatch', message)
}
