/**
 * Retries tokens that could not be read: a few trial reads when a token is due, then a read for every wallet that may
 * hold it. A contract that still misbehaves costs only the trial reads, of bounded gas.
 */
import type { Pool } from 'pg'
import { rpcCall } from '../chain/json-rpc.ts'
import { BursarError } from '../core/errors.ts'
import type { BalanceContext } from './balance-context.ts'
import type { BalanceChain } from './chain.ts'
import { type Holding, readHoldings } from './read-holdings.ts'
import { readToken } from './read-token.ts'
import type { DueToken, FailedToken } from './unread-tokens.ts'

/** Tokens tried in one run; the others wait for the next, some seconds later. */
const TOKENS_PER_RUN = 20
/** More than one: a contract may refuse single holders. */
const TRIAL_READS = 10

export type Retried = { readonly settled: readonly string[]; readonly failed: readonly string[] }

/** @throws Unavailable when no node answers: the tokens are due again at the next run */
export async function retryTokens(
  ctx: Omit<BalanceContext, 'readForRecord'>,
  chainId: number,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Retried> {
  const { unread, chainOf } = ctx
  const chain = chainOf(chainId)
  const settled: string[] = []
  const failed: string[] = []
  for (const token of await unread.due(chainId, TOKENS_PER_RUN)) {
    if (signal?.aborted) break
    if (await readAnew(ctx, chain, token, signal)) settled.push(token.contract)
    else failed.push(token.contract)
  }
  return { settled, failed }
}

/** @returns whether all of its balances were read and nothing was left out meanwhile */
async function readAnew(
  ctx: Parameters<typeof retryTokens>[0],
  chain: BalanceChain,
  { contract, missed: before }: DueToken,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { pool, unread } = ctx
  const { chainId } = chain
  const refuse = async (failed: readonly FailedToken[]): Promise<null> => {
    await unread.note(chainId, await blamed(chain, failed))
    return null
  }
  let missed: string | null = before
  let released = false
  const complete = await readToken(ctx, chain, {
    contract,
    signal,
    read: async (holdings, at) => {
      if (!released) {
        const trial = await readHoldings(chain, holdings.slice(0, TRIAL_READS), at)
        if (trial.failed.length > 0) return refuse(trial.failed)
        // From here on blocks include the token again: what they left out before is older than what is read now.
        missed = await unread.release(chainId, contract)
        released = true
      }
      const { readings, failed } = await readHoldings(chain, holdings, at)
      if (failed.length > 0) return refuse(failed)
      // A balance recorded above this block belongs to a fork: it is corrected when the chain reaches that height.
      return (await isAhead(pool, holdings, at.blockNumber)) ? null : readings
    },
  })
  const settled = complete && missed !== null && (await unread.settle(chainId, { contract, missed }))
  if (!settled && !signal?.aborted) await unread.putOff(chainId, contract)
  return settled
}

/** When a node answers everything except this contract, the contract is at fault. */
async function blamed({ foreign }: BalanceChain, failed: readonly FailedToken[]): Promise<readonly FailedToken[]> {
  if (!failed.some(({ reason }) => reason === 'unread')) return failed
  try {
    await rpcCall(foreign, 'eth_blockNumber')
  } catch (error) {
    if (error instanceof BursarError) return failed
    throw error
  }
  return failed.map((one) => (one.reason === 'unread' ? { ...one, reason: 'timeout' } : one))
}

async function isAhead(pool: Pool, holdings: readonly Holding[], blockNumber: number): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'balances_ahead',
    text: `SELECT FROM unnest($1::text[], $2::text[]) AS holding(wallet_id, asset_id)
             JOIN balances b USING (wallet_id, asset_id) WHERE b.block_number > $3 LIMIT 1`,
    values: [holdings.map(({ walletId }) => walletId), holdings.map(({ asset }) => asset.assetId), blockNumber],
  })
  return rows.length > 0
}
