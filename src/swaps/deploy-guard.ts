/**
 * Deploys the guard of swaps and its executor on the chain of a wallet, which pays: a transaction like any other. Their
 * addresses are the same on every chain.
 */
import type { Pool } from 'pg'
import { contractGas } from '../chain/deployment-proxy.ts'
import { readData } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import { ChainRefused, NotFound } from '../core/errors.ts'
import type { Accept } from '../event-log/accept.ts'
import type { Row } from '../event-log/table-rows.ts'
import { prepareCall } from '../transactions/prepare-call.ts'
import type { PrepareContext } from '../transactions/send-context.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import { withAddress } from '../wallets/find-wallet.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import { deployGuard as guardDeployment, readGuardProblem } from './contracts/guard.ts'

export type GuardDeployment = {
  readonly chainId: number
  readonly network: string
  /** `null`: the chain has the guard. */
  readonly transactionId: string | null
}

/**
 * A deployment that is under way is returned, whoever pays for it.
 *
 * @throws NotFound `wallet_not_found`, ChainRefused `deployment_proxy_missing`, ValidationFailed `watch_only`, Conflict
 *   `wallet_not_ready` or `wallet_archived`, InsufficientFunds, Unavailable
 */
export async function deployGuard(
  ctx: PrepareContext & {
    readonly pool: Pool
    readonly accept: Accept
    /** @throws Error for a chain that is not configured */
    readonly chainOf: (chainId: number) => { readonly agreed: RpcReader }
  },
  walletId: string,
): Promise<GuardDeployment> {
  const facts = await createWalletFacts(ctx.pool)(walletId)
  if (facts === null) throw new NotFound('wallet', 'wallet_not_found', `The wallet ${walletId} does not exist.`)
  const { tenantId, environment, chainId, network } = withAddress(facts)
  const client = ctx.chainOf(chainId).agreed
  if ((await readGuardProblem(client, ['latest'])) === null) return { chainId, network, transactionId: null }
  const pending = await findPending(ctx.pool, chainId)
  if (pending !== null) return { chainId, network, transactionId: pending }
  await requireProxy(client, chainId, network)
  const guard = guardDeployment()
  const rules = await ctx.gasRules(chainId)
  const metadata = { tenantId, actor: 'operator' }
  const call = {
    ...guard,
    owner: { tenantId, environment },
    walletId,
    kind: 'SwapGuardDeployRequested',
    // Of two contracts, whose bytes are all in the call data.
    gasLimit: contractGas(rules, guard.data) + rules.contract.base,
    subject: null,
  } as const
  const { id } = await ctx.accept(metadata, async (append) => {
    const { transactionId, decision, guards, explain } = await prepareCall(ctx, call, metadata)
    return append({ id: transactionId, commit: { decisions: [decision], guards }, explain, made: null })
  })
  return { chainId, network, transactionId: id }
}

async function findPending(pool: Pool, chainId: number): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'guard_deployment',
    text: `SELECT transaction_id FROM ${TRANSACTIONS} AS transactions
            WHERE chain_id = $1 AND type = 'SWAP_GUARD_DEPLOY' AND status = 'pending' ORDER BY transaction_id LIMIT 1`,
    values: [chainId],
  })
  return rows[0]?.transaction_id ?? null
}

async function requireProxy(client: RpcReader, chainId: number, network: string): Promise<void> {
  const { to } = guardDeployment()
  const code = readData(await rpcCall(client, 'eth_getCode', [to, 'latest']), 'a contract code')
  if (code !== '0x') return
  throw new ChainRefused(
    'deployment_proxy_missing',
    `${network} (chain ${chainId}) does not have the deterministic deployment proxy at ${to}: deploy the proxy first, ` +
      'see https://github.com/Arachnid/deterministic-deployment-proxy.',
  )
}
