/** Which contracts are collections of a tenant: what policies ask, now and by the log. */
import type { Pool } from 'pg'
import { toChecksumAddress } from '../../chain/address.ts'
import type { Row } from '../../event-log/table-rows.ts'
import type { KnownCollections } from '../../policies/known-collections.ts'
import { trueFromOpening } from '../../policies/log-facts.ts'
import { collectionAggregate } from './aggregate.ts'

type CollectionRow<Column extends keyof Row<'nft_collections'>> = Pick<Row<'nft_collections'>, Column>

export const knownCollections: KnownCollections = {
  async among(pool, ...values) {
    const { rows } = await pool.query<CollectionRow<'contract_address'>>({
      name: 'collections_at',
      text: `SELECT contract_address FROM nft_collections
              WHERE tenant_id = $1 AND chain_id = $2 AND lower(contract_address) = ANY($3)`,
      values,
    })
    return rows.map((row) => row.contract_address.toLowerCase())
  },
  async recorded({ pool, log }, tenantId, chainId, contract) {
    const address = toChecksumAddress(contract)
    // The rows only locate the streams.
    const found = await log.loadChecked(collectionAggregate, await idsAt(pool, [tenantId, chainId, address]))
    return trueFromOpening(
      found.filter(
        ({ state }) =>
          state.state !== 'unknown' &&
          state.collection.tenantId === tenantId &&
          state.collection.chainId === chainId &&
          state.collection.contractAddress === address,
      ),
    )
  },
}

async function idsAt(pool: Pool, values: readonly [tenantId: string, chainId: number, address: string]) {
  const { rows } = await pool.query<CollectionRow<'collection_id'>>({
    name: 'collection_ids_at',
    text: 'SELECT collection_id FROM nft_collections WHERE tenant_id = $1 AND chain_id = $2 AND contract_address = $3',
    values: [...values],
  })
  return rows.map(({ collection_id }) => collection_id)
}
