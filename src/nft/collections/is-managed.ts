/** Which calls this service sends itself: those of the collections of any tenant, of their factory and of its parts. */
import type { Pool } from 'pg'
import {
  FACTORY_ADDRESS,
  IMPLEMENTATION_ADDRESS,
  STEP_FACTORY_ADDRESS,
  STEP_IMPLEMENTATION_ADDRESS,
} from '../contracts/collection.ts'
import { EARLIER_FACTORIES, EARLIER_IMPLEMENTATIONS } from '../contracts/earlier-factories.ts'
import { callsFunction } from '../contracts/encode-calls.ts'

const DEPLOYED: readonly string[] = [
  ...[FACTORY_ADDRESS, ...Object.values(IMPLEMENTATION_ADDRESS)],
  ...[STEP_FACTORY_ADDRESS, ...Object.values(STEP_IMPLEMENTATION_ADDRESS)],
  ...[...EARLIER_FACTORIES, ...EARLIER_IMPLEMENTATIONS],
]

/** What any holder may do with its tokens: blocks show it, and the service needs no record of its own to know it. */
const OF_HOLDERS = [
  ...['approve', 'setApprovalForAll', 'burn', 'burnBatch'],
  ...['transferFrom', 'safeTransferFrom', 'safeBatchTransferFrom'],
]

/**
 * Whether only the routes for NFTs may make this call: it would mint, redeem, revoke, update or change the owner without a
 * record.
 *
 * @param to EIP-55
 */
export async function isManagedCall(
  pool: Pool,
  chainId: number,
  { to, data }: { readonly to: string; readonly data: string },
): Promise<boolean> {
  return !callsFunction(data, OF_HOLDERS) && isManagedContract(pool, chainId, to)
}

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
