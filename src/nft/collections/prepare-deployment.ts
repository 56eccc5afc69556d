/**
 * The transactions that deploy a collection's contract. Its factory has the same address on every chain; if it is
 * missing, it is deployed first, by a transaction of the same wallet: whoever else deploys it, and whether they can pay,
 * holds nothing up.
 */

import { type ContractRequest, contractGas, DEPLOYMENT_PROXY } from '../../chain/deployment-proxy.ts'
import { type GasRules, MAX_EXECUTION_GAS } from '../../chain/forks.ts'
import { ChainRefused } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Owner } from '../../core/tenants.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { prepareCall } from '../../transactions/prepare-call.ts'
import type { PreparedTransaction } from '../../transactions/prepare-transaction.ts'
import type { Sender } from '../../transactions/send-context.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import {
  type CollectionConfig,
  createImplementation,
  deployCollection,
  FACTORY_ADDRESS,
  type FactoryKind,
  factoryAddress,
  STEP_FACTORY_ADDRESS,
  STEP_IMPLEMENTATION_ADDRESS,
  type TokenStandard,
} from '../contracts/collection.ts'
import { ensureFactory } from '../contracts/ensure-factory.ts'
import { deployGas } from '../contracts/gas.ts'
import { NFT_GAS } from '../contracts/gas-rules.ts'
import type { NftContext } from '../nft-context.ts'
import { FAILED_IN_SQL } from '../outcome.ts'

export type Deployment = {
  readonly owner: Owner
  readonly sender: Sender
  readonly collectionId: string
  readonly config: CollectionConfig
  readonly salt: string
}

/**
 * Where collections of a chain are deployed, and whether everything for them stands. An installation is kept; a new one is
 * made in steps where one transaction has no room for the factory with both of its implementations.
 *
 * @throws Unavailable when no node answered
 */
export async function findFactory(
  { chainOf, gasRules }: NftContext,
  chainId: number,
  standard: TokenStandard,
): Promise<{ readonly kind: FactoryKind; readonly hasFactory: boolean; readonly hasImplementation: boolean }> {
  const places = [FACTORY_ADDRESS, STEP_FACTORY_ADDRESS, STEP_IMPLEMENTATION_ADDRESS[standard]]
  const [whole = false, steps = false, implementation = false] = await chainOf(chainId).code.haveCode(places)
  if (whole) return { kind: 'WHOLE', hasFactory: true, hasImplementation: true }
  const { set } = await gasRules(chainId)
  const kind = steps || NFT_GAS[set].wholeFactory > MAX_EXECUTION_GAS ? 'STEPS' : 'WHOLE'
  return { kind, hasFactory: steps, hasImplementation: kind === 'WHOLE' || implementation }
}

export type PreparedDeployment = {
  /** The last one deploys the collection. */
  readonly prepared: readonly [...PreparedTransaction[], PreparedTransaction]
  readonly kind: FactoryKind
}

/**
 * The decisions to append in one commit.
 *
 * @throws ChainRefused `deployment_proxy_missing` when nothing can be deployed on the chain; errors of `prepareCall`
 */
export async function prepareDeployment(
  ctx: NftContext,
  deployment: Deployment,
  metadata: Metadata,
): Promise<PreparedDeployment> {
  const { owner, sender, collectionId, config, salt } = deployment
  const { chainId } = sender
  const rules = await ctx.gasRules(chainId)
  const common = {
    owner,
    walletId: sender.walletId,
    kind: 'CollectionDeployRequested',
    subject: { type: 'collection', id: collectionId },
  } as const
  const { kind, hasFactory, hasImplementation } = await findFactory(ctx, chainId, config.standard)
  const before: PreparedTransaction[] = []
  // The collection is part 0, whatever has to be deployed before it.
  const first = async (call: ContractRequest, gasLimit: bigint, dependsOn: string | null) => {
    const request = { ...common, ...call, gasLimit, dependsOn, part: before.length + 1 }
    const one = await prepareCall(ctx, request, metadata)
    before.push(one)
    return one.transactionId
  }
  let dependsOn: string | null = null
  if (!hasFactory) {
    dependsOn = await findFactoryDeployment(ctx, sender.walletId, kind)
    if (dependsOn === null) {
      await requireProxy(ctx, sender)
      const call = ensureFactory(kind, salt)
      dependsOn = await first(call, factoryGas(rules, kind, call), null)
    }
  }
  if (!hasImplementation) {
    const gas = contractGas(rules, createImplementation(config.standard).data)
    dependsOn =
      (await findImplementation(ctx, sender.walletId, config.standard)) ??
      (await first(createImplementation(config.standard), gas, dependsOn))
  }
  const request = { ...common, ...deployCollection(config, salt, kind), gasLimit: deployGas(rules, config), dependsOn }
  return { prepared: [...before, await prepareCall(ctx, request, metadata)], kind }
}

/** With the contract without code that has it created. */
function factoryGas(rules: GasRules, kind: FactoryKind, { data }: ContractRequest): bigint {
  return kind === 'WHOLE' ? NFT_GAS[rules.set].wholeFactory : contractGas(rules, data) + rules.contract.base
}

/**
 * A pending deployment of the factory by the same wallet, or one so recent that this process has not seen its code. One of
 * the other kind, from before a fork, is none: calls of a factory without code succeed and create nothing. The collection
 * that it was made for calls the factory that it deploys.
 */
async function findFactoryDeployment(
  { pool }: NftContext,
  walletId: string,
  kind: FactoryKind,
): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'factory_deployment',
    text: `SELECT x.transaction_id
             FROM ${TRANSACTIONS} x
             JOIN nft_collections c ON c.collection_id = x.subject_id
             JOIN ${TRANSACTIONS} d ON d.transaction_id = c.transaction_id
            WHERE x.wallet_id = $1 AND x.type = 'NFT_DEPLOY' AND x.to_address = '${DEPLOYMENT_PROXY}' AND NOT ${FAILED_IN_SQL}
              AND d.to_address = $2
            ORDER BY x.transaction_id LIMIT 1`,
    values: [walletId, factoryAddress(kind)],
  })
  return rows[0]?.transaction_id ?? null
}

/** The same for an implementation: a call of the factory that is not the deployment of its collection. */
async function findImplementation(
  { pool }: NftContext,
  walletId: string,
  standard: TokenStandard,
): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'implementation_deployment',
    text: `SELECT x.transaction_id
             FROM nft_collections c
             JOIN ${TRANSACTIONS} x ON x.subject_type = 'collection' AND x.subject_id = c.collection_id
            WHERE c.wallet_id = $1 AND c.standard = $2 AND x.transaction_id <> c.transaction_id
              AND x.to_address = '${STEP_FACTORY_ADDRESS}' AND NOT ${FAILED_IN_SQL}
            ORDER BY x.transaction_id LIMIT 1`,
    values: [walletId, standard],
  })
  return rows[0]?.transaction_id ?? null
}

async function requireProxy({ chainOf }: NftContext, { chainId, network }: Sender): Promise<void> {
  const [stands] = await chainOf(chainId).code.haveCode([DEPLOYMENT_PROXY])
  if (stands) return
  throw new ChainRefused(
    'deployment_proxy_missing',
    `${network} (chain ${chainId}) does not have the deterministic deployment proxy at ${DEPLOYMENT_PROXY}: deploy the proxy first, ` +
      'see https://github.com/Arachnid/deterministic-deployment-proxy.',
  )
}
