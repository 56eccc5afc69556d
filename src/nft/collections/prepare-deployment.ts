/**
 * The transactions that deploy a collection's contract. Its factory has the same address on every chain; if it is
 * missing, it is deployed first, once, and the collection waits for it.
 */
import type { Pool } from 'pg'
import type { CodeLookup } from '../../chain/code.ts'
import {
  type CollectionConfig,
  DEPLOYMENT_PROXY,
  deployCollection,
  deployFactory,
  FACTORY_ADDRESS,
} from '../../chain/nft-collection.ts'
import { deployGas } from '../../chain/nft-gas.ts'
import { ChainRefused } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Owner } from '../../core/tenants.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { prepareCall } from '../../transactions/prepare-call.ts'
import type { PreparedTransaction, PreparePorts, Sender } from '../../transactions/prepare-transaction.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { FAILED_IN_SQL } from '../outcome.ts'

export type DeploymentPorts = PreparePorts & {
  readonly pool: Pool
  readonly codeOf: (chainId: number) => CodeLookup
}

export type Deployment = {
  readonly owner: Owner
  readonly sender: Sender
  readonly collectionId: string
  readonly config: CollectionConfig
  readonly salt: string
}

/** Whether the chain has the factory. @throws Unavailable when no node answered */
export async function hasFactory({ codeOf }: DeploymentPorts, chainId: number): Promise<boolean> {
  return (await codeOf(chainId).haveCode([FACTORY_ADDRESS]))[0] === true
}

/**
 * The changes to append in one commit; the last call deploys the collection.
 *
 * @throws ChainRefused `deployment_proxy_missing` when nothing can be deployed on the chain; errors of `prepareCall`
 */
export async function prepareDeployment(
  ports: DeploymentPorts,
  deployment: Deployment,
  metadata: Metadata,
): Promise<readonly [...PreparedTransaction[], PreparedTransaction]> {
  const { owner, sender, collectionId, config, salt } = deployment
  const common = {
    owner,
    walletId: sender.walletId,
    kind: 'CollectionDeployRequested',
    subject: { type: 'collection', id: collectionId },
  } as const
  const rules = await ports.gasRules(sender.chainId)
  const before: PreparedTransaction[] = []
  let dependsOn: string | null = null
  if (!(await hasFactory(ports, sender.chainId))) {
    dependsOn = await findFactoryDeployment(ports, sender.chainId)
    if (dependsOn === null) {
      await requireProxy(ports, sender)
      // The collection is part 0, whether the factory has to be deployed or not.
      const request = { ...common, ...deployFactory(), gasLimit: rules.nft.wholeFactory, part: 1 }
      const factory = await prepareCall(ports, request, metadata)
      before.push(factory)
      dependsOn = factory.transactionId
    }
  }
  const request = { ...common, ...deployCollection(config, salt), gasLimit: deployGas(rules, config), dependsOn }
  return [...before, await prepareCall(ports, request, metadata)]
}

/**
 * A pending deployment of the factory, whoever pays for it, or one so recent that this process has not seen its code.
 */
async function findFactoryDeployment({ pool }: DeploymentPorts, chainId: number): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'factory_deployment',
    text: `SELECT x.transaction_id FROM ${TRANSACTIONS} x
            WHERE x.chain_id = $1 AND x.type = 'NFT_DEPLOY' AND x.to_address = '${DEPLOYMENT_PROXY}' AND NOT ${FAILED_IN_SQL}
            ORDER BY x.transaction_id LIMIT 1`,
    values: [chainId],
  })
  return rows[0]?.transaction_id ?? null
}

async function requireProxy({ codeOf }: DeploymentPorts, { chainId, network }: Sender): Promise<void> {
  const [stands] = await codeOf(chainId).haveCode([DEPLOYMENT_PROXY])
  if (stands) return
  throw new ChainRefused(
    'deployment_proxy_missing',
    `${network} (chain ${chainId}) does not have the deterministic deployment proxy at ${DEPLOYMENT_PROXY}: deploy the proxy first, ` +
      'see https://github.com/Arachnid/deterministic-deployment-proxy.',
  )
}
