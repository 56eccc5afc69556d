/** Reads many balances as of one block, whose hash makes sure that no other fork answers. */
import { readHead, readHeaders } from '../chain/blocks.ts'
import type { RpcFailure } from '../chain/json-rpc.ts'
import { type BalanceQuery, readBalances } from '../chain/multicall.ts'
import { classifyCallFailure } from '../chain/rpc-errors.ts'
import type { Asset } from '../core/assets.ts'
import { ChainRefused, Unavailable } from '../core/errors.ts'
import type { BalanceChain } from './chain.ts'
import type { BlockRef, Observation } from './events.ts'

/** A balance to look at: whose, and of what. */
export type Holding = {
  readonly walletId: string
  readonly tenantId: string
  readonly address: string
  readonly asset: Asset
  /** The block of what is recorded, when that block may have left the chain. */
  readonly orphaned: BlockRef | null
}

export type Reading = { readonly holding: Holding; readonly observation: Observation }

/**
 * What the chain says of each holding as of a block. Nodes keep the state of the newest blocks only, and a follower that
 * was down for long comes later: then it is read as of the newest block, which the observations name.
 *
 * @returns one reading for each holding, without those whose contract gave no balance
 * @throws Unavailable when no node answers, or none has come as far as the block
 */
export async function readHoldings(
  chain: BalanceChain,
  holdings: readonly Holding[],
  at: BlockRef,
): Promise<Reading[]> {
  try {
    return await readAt(chain, holdings, at)
  } catch (error) {
    if (!isStateMissing(error)) throw error
    const newest = await newestBlock(chain)
    if (newest.blockNumber < at.blockNumber) throw notThereYet(at.blockNumber, error)
    return readAt(chain, holdings, newest)
  }
}

/** The block that the chain ends with now. @throws Unavailable when no node answers */
export async function newestBlock({ client }: BalanceChain): Promise<BlockRef> {
  const { number: blockNumber, hash: blockHash } = await readHead(client)
  return { blockNumber, blockHash }
}

/** The block of a height. @throws Unavailable when no node answers or none has come as far */
export async function blockAt({ client }: BalanceChain, blockNumber: number): Promise<BlockRef> {
  const [header] = await readHeaders(client, [blockNumber])
  if (header) return { blockNumber, blockHash: header.hash }
  throw notThereYet(blockNumber)
}

async function readAt(
  { client, multicall3 }: BalanceChain,
  holdings: readonly Holding[],
  { blockNumber, blockHash }: BlockRef,
): Promise<Reading[]> {
  if (holdings.length === 0) return []
  // Several tenants may watch one address: it is read once.
  const queries = new Map<string, BalanceQuery>()
  for (const holding of holdings) {
    queries.set(keyOf(holding), { address: holding.address, token: holding.asset.contract })
  }
  const read = await readBalances(client, multicall3, [...queries.values()], { blockHash })
  const amounts = new Map([...queries.keys()].map((key, index) => [key, read[index] ?? null]))
  return holdings.flatMap((holding) => {
    // On the chain that replaced the old one the token may not be there, and then nobody holds any of it.
    const amount = amounts.get(keyOf(holding)) ?? (holding.orphaned === null ? null : 0n)
    if (amount === null) return []
    return [{ holding, observation: { asset: holding.asset, balance: amount.toString(), blockNumber, blockHash } }]
  })
}

function keyOf({ address, asset }: Holding): string {
  return `${address} ${asset.assetId}`
}

function isStateMissing(error: unknown): boolean {
  if (!(error instanceof ChainRefused) || error.cause === undefined) return false
  return classifyCallFailure(error.cause as RpcFailure).type === 'missing_state'
}

function notThereYet(blockNumber: number, cause?: unknown): Unavailable {
  return new Unavailable('rpc_unavailable', `No node has come as far as block ${blockNumber}.`, { cause })
}
