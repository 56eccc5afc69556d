/** Which calls this service sends itself: those of the collections of any tenant, of their factory and of its parts. */
import type { Pool } from 'pg'
import type { ManagedContracts } from '../transactions/managed-contracts.ts'
import {
  FACTORY_ADDRESS,
  IMPLEMENTATION_ADDRESS,
  STEP_FACTORY_ADDRESS,
  STEP_IMPLEMENTATION_ADDRESS,
} from './contracts/collection.ts'
import { EARLIER_FACTORIES, EARLIER_IMPLEMENTATIONS } from './contracts/earlier-factories.ts'
import { callsFunction } from './contracts/encode-calls.ts'
import { readTokensInTransfer } from './transfers/in-transfer.ts'

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

/** What only the routes for NFTs may call, which would mint, redeem, revoke, update or change the owner without a record. */
export function managedContracts(pool: Pool): ManagedContracts {
  async function isManaged(chainId: number, address: string): Promise<boolean> {
    if (DEPLOYED.includes(address)) return true
    const { rowCount } = await pool.query({
      name: 'is_managed_contract',
      text: 'SELECT FROM nft_collections WHERE chain_id = $1 AND contract_address = $2',
      values: [chainId, address],
    })
    return rowCount === 1
  }
  return {
    isManaged,
    isManagedCall: async (chainId, { to, data }) => !callsFunction(data, OF_HOLDERS) && isManaged(chainId, to),
    tokensInTransfer: ({ chainId, address }) => readTokensInTransfer(pool, chainId, address),
  }
}
