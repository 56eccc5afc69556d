/**
 * Decides what to record of balances from processed blocks; the follower commits them together with those of transactions and with
 * its cursor. The cost grows with the blocks, not with the wallets: addresses are not polled.
 */
import type { Block } from '../chain/blocks.ts'
import type { ChainKey } from '../core/networks.ts'
import type { Decision } from '../event-log/aggregate.ts'
import type { BalanceContext } from './balance-context.ts'
import { decisionsOfReadings } from './decisions-of-readings.ts'
import type { HolderReads } from './holder-reads.ts'
import { blockAt, type Holding } from './read-holdings.ts'
import { touchedBy } from './touched.ts'

type ObserveContext = Pick<BalanceContext, 'load' | 'chainOf' | 'readForRecord'> & {
  readonly reads: HolderReads<Holding>
}

export type FollowedChain = ChainKey & { readonly chainId: number }

const ACTOR = 'chain-follower'

/**
 * Decisions for the wallets that the blocks touched, of all tenants and including archived ones, as of the last block. A token
 * that cannot be read delays nothing: its balances are unchanged and read again later.
 *
 * @param blocks consecutive, oldest first
 * @param now ISO 8601
 *
 * @throws Unavailable when no node answers. Their append may fail with StreamConflict: observe again
 */
export async function observeBalances(
  { reads, load, chainOf, readForRecord }: ObserveContext,
  walked: {
    readonly chain: FollowedChain
    readonly blocks: readonly Block[]
    readonly now: string
    /** The touched wallets, if the caller has looked them up already. */
    readonly touched?: Promise<readonly Holding[]>
  },
): Promise<Decision[]> {
  const { blocks, now } = walked
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (first === undefined || last === undefined) return []
  const chain = chainOf(walked.chain.chainId)
  const [touched, suspect] = await Promise.all([
    walked.touched ?? reads.touched(chain, touchedBy(blocks)),
    reads.suspect(chain, { lowest: first.number, highest: last.number }, blocks.map(hashOf)),
  ])
  const readings = await readForRecord(chain, withoutDoubles([...suspect, ...touched]), {
    blockNumber: last.number,
    blockHash: last.hash,
  })
  return decisionsOfReadings(readings, { load, cause: 'block', now, actor: ACTOR })
}

/** Decisions for the balances observed above the newest block still on the chain, as of that block. */
export async function unwindBalances(
  { reads, load, chainOf, readForRecord }: ObserveContext,
  {
    chain: { chainId },
    ancestorNumber,
    now,
  }: {
    readonly chain: FollowedChain
    readonly ancestorNumber: number
    readonly now: string
  },
): Promise<Decision[]> {
  const chain = chainOf(chainId)
  const suspect = await reads.suspect(chain, { lowest: ancestorNumber + 1, highest: Number.MAX_SAFE_INTEGER }, [])
  if (suspect.length === 0) return []
  const readings = await readForRecord(chain, suspect, await blockAt(chain, ancestorNumber))
  return decisionsOfReadings(readings, { load, cause: 'block', now, actor: ACTOR })
}

function hashOf({ hash }: Block): string {
  return hash
}

/** The first holding of each wallet and asset. */
function withoutDoubles(holdings: readonly Holding[]): Holding[] {
  const seen = new Set<string>()
  return holdings.filter(({ walletId, asset }) => {
    const key = `${walletId} ${asset.assetId}`
    return !seen.has(key) && seen.add(key)
  })
}
