/** Which contracts this service sends the transactions of: collections of any tenant, their factory and its parts. */
import type { Pool } from 'pg'
import { EARLIER_FACTORIES, EARLIER_IMPLEMENTATIONS } from '../../chain/earlier-factories.ts'
import {
  FACTORY_ADDRESS,
  IMPLEMENTATION_ADDRESS,
  STEP_FACTORY_ADDRESS,
  STEP_IMPLEMENTATION_ADDRESS,
} from '../../chain/nft-collection.ts'

const DEPLOYED: readonly string[] = [
  ...[FACTORY_ADDRESS, ...Object.values(IMPLEMENTATION_ADDRESS)],
  ...[STEP_FACTORY_ADDRESS, ...Object.values(STEP_IMPLEMENTATION_ADDRESS)],
  ...[...EARLIER_FACTORIES, ...EARLIER_IMPLEMENTATIONS],
]

/** @param address EIP-55 */
export async function isManagedContract(pool: Pool, chainId: number, address: string): Promise<boolean> {
  if (DEPLOYED.includes(address)) return true
  const { rowCount } = await pool.query({
    name: 'is_managed_contract',
    text: 'SELECT FROM nft_collections WHERE chain_id = $1 AND contract_address = $2',
    values: [chainId, address],
  })
  return rowCount === 1
}
