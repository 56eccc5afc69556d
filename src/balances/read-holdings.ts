/**
 * Reads many balances as of one block, identified by its hash so that no other fork answers. If the native currency
 * cannot be read, the call fails; a token whose contract returns no balance is reported and does not delay the others.
 */
import { readHead, readHeaders } from '../chain/blocks.ts'
import type { RpcFailure } from '../chain/json-rpc.ts'
import { readNativeBalances } from '../chain/multicall.ts'
import { classifyCallFailure } from '../chain/rpc-errors.ts'
import { readTokens, type TokenReadOutcome } from '../chain/token-reads.ts'
import type { Asset } from '../core/assets.ts'
import { ChainRefused, Unavailable } from '../core/errors.ts'
import type { BalanceChain } from './chain.ts'
import type { BlockRef, Observation } from './events.ts'
import type { FailedToken, UnreadReason, UnreadTokens } from './unread-tokens.ts'

/** A balance to read: the wallet and the asset. */
export type Holding = {
  readonly walletId: string
  readonly tenantId: string
  readonly address: string
  readonly asset: Asset
  /** The block of the recorded balance, when that block may have left the chain. */
  readonly orphaned: BlockRef | null
}

export type Reading = { readonly holding: Holding; readonly observation: Observation }

export type Readings = {
  /** One for each holding, except those whose contract returned no balance. */
  readonly readings: Reading[]
  /** Tokens with failed reads. */
  readonly failed: FailedToken[]
}

/**
 * Token balances read at once: 50 calls of a node. Further ones are read when their tokens are retried; the tenants of
 * a block take turns, so that one with many tokens does not displace another.
 */
const MAX_TOKEN_READS = 5_000

/** Reads for recording: quarantined tokens are left out, and failures are recorded before the readings are returned. */
export type ReadForRecord = (chain: BalanceChain, holdings: readonly Holding[], at: BlockRef) => Promise<Reading[]>

/** As `ReadForRecord`. @throws as `readHoldings` */
export async function readForRecord(
  { unread }: { readonly unread: UnreadTokens },
  chain: BalanceChain,
  holdings: readonly Holding[],
  at: BlockRef,
): Promise<Reading[]> {
  const contracts = new Set(holdings.flatMap(({ asset }) => asset.contract ?? []))
  const left = await unread.leaveOut(chain.chainId, [...contracts])
  const wanted = holdings.filter(({ asset }) => asset.contract === null || !left.has(asset.contract))
  const { readings, failed } = await readHoldings(chain, wanted, at)
  await unread.note(chain.chainId, failed)
  return readings
}

/**
 * Reads each holding as of a block. Nodes keep the state of recent blocks only; for a follower that was down for long
 * the newest block is used instead, and named in the observations.
 *
 * @throws Unavailable when no node answers for the native currency, or none has reached the block
 */
export async function readHoldings(chain: BalanceChain, holdings: readonly Holding[], at: BlockRef): Promise<Readings> {
  const natives = holdings.filter(({ asset }) => asset.contract === null)
  const tokens = inTurns(holdings.filter(({ asset }) => asset.contract !== null))
  const native = await atOrNewest(chain, at, (block) => readNatives(chain, natives, block))
  const [now, later] = [tokens.slice(0, MAX_TOKEN_READS), tokens.slice(MAX_TOKEN_READS)]
  const read = await atOrNewest(chain, at, (block) => readTokensAt(chain, now, block)).catch((error: unknown) => {
    // A block can be committed although the nodes for tokens do not answer.
    if (error instanceof Unavailable || error instanceof ChainRefused) return { readings: [], failed: unreadOf(now) }
    throw error
  })
  return { readings: [...native, ...read.readings], failed: onceEach([...read.failed, ...unreadOf(later)]) }
}

/** The newest block of the chain. @throws Unavailable when no node answers */
export async function newestBlock({ client }: BalanceChain): Promise<BlockRef> {
  const { number: blockNumber, hash: blockHash } = await readHead(client)
  return { blockNumber, blockHash }
}

/** The block at a height. @throws Unavailable when no node answers or none has reached it */
export async function blockAt({ client }: BalanceChain, blockNumber: number): Promise<BlockRef> {
  const [header] = await readHeaders(client, [blockNumber])
  if (header) return { blockNumber, blockHash: header.hash }
  throw notThereYet(blockNumber)
}

async function atOrNewest<T>(chain: BalanceChain, at: BlockRef, read: (block: BlockRef) => Promise<T>): Promise<T> {
  try {
    return await read(at)
  } catch (error) {
    if (!isStateMissing(error)) throw error
    const newest = await newestBlock(chain)
    if (newest.blockNumber < at.blockNumber) throw notThereYet(at.blockNumber, error)
    return read(newest)
  }
}

async function readNatives(
  { client, multicall3 }: BalanceChain,
  holdings: readonly Holding[],
  block: BlockRef,
): Promise<Reading[]> {
  if (holdings.length === 0) return []
  // An address watched by several tenants is read once.
  const addresses = [...new Set(holdings.map(({ address }) => address))]
  const read = await readNativeBalances(client, multicall3, addresses, { blockHash: block.blockHash })
  const amounts = new Map(addresses.map((address, index) => [address, read[index] ?? 0n]))
  return holdings.map((holding) => toReading(holding, amounts.get(holding.address) ?? 0n, block))
}

async function readTokensAt(
  { foreign }: BalanceChain,
  holdings: readonly Holding[],
  block: BlockRef,
): Promise<Readings> {
  if (holdings.length === 0) return { readings: [], failed: [] }
  const reads = new Map(
    holdings.map((holding) => [keyOf(holding), { token: holding.asset.contract ?? '', owner: holding.address }]),
  )
  const read = await readTokens(foreign, [...reads.values()], { blockHash: block.blockHash })
  const outcomes = new Map([...reads.keys()].map((key, index) => [key, read[index]]))
  return {
    readings: holdings.flatMap((holding) => {
      const amount = amountOf(outcomes.get(keyOf(holding)), holding)
      return amount === null ? [] : [toReading(holding, amount, block)]
    }),
    failed: failedOf(holdings, outcomes),
  }
}

function amountOf(outcome: TokenReadOutcome | undefined, { orphaned }: Holding): bigint | null {
  if (outcome === undefined) return null
  if ('balance' in outcome) return outcome.balance
  // On the new branch the token's contract may not exist, and its balance is then zero.
  return outcome.failure === 'none' && orphaned !== null ? 0n : null
}

function toReading(holding: Holding, amount: bigint, { blockNumber, blockHash }: BlockRef): Reading {
  return { holding, observation: { asset: holding.asset, balance: amount.toString(), blockNumber, blockHash } }
}

/** A contract that fails for some holders and answers for others works: some tokens block addresses. */
function failedOf(
  holdings: readonly Holding[],
  outcomes: ReadonlyMap<string, TokenReadOutcome | undefined>,
): FailedToken[] {
  const told = (holding: Holding) => amountOf(outcomes.get(keyOf(holding)), holding) !== null
  const answered = new Set(holdings.filter(told).map(({ asset }) => asset.contract))
  return holdings.flatMap((holding): FailedToken[] => {
    const { contract } = holding.asset
    const outcome = outcomes.get(keyOf(holding))
    if (contract === null || outcome === undefined || 'balance' in outcome || told(holding)) return []
    return outcome.failure === 'none' && answered.has(contract) ? [] : [{ contract, reason: outcome.failure }]
  })
}

function unreadOf(holdings: readonly Holding[]): FailedToken[] {
  return holdings.flatMap(({ asset: { contract } }) => (contract === null ? [] : [{ contract, reason: 'unread' }]))
}

const SEVERITY: readonly UnreadReason[] = ['unread', 'timeout', 'none', 'size', 'gas']

/** Each contract once, with its worst failure. */
function onceEach(failed: readonly FailedToken[]): FailedToken[] {
  const worstLast = failed.toSorted((a, b) => SEVERITY.indexOf(a.reason) - SEVERITY.indexOf(b.reason))
  return [...new Map(worstLast.map((one) => [one.contract, one])).values()]
}

/** The first holding of each tenant, then the second of each, and so on. */
function inTurns(holdings: readonly Holding[]): Holding[] {
  const taken = new Map<string, number>()
  const turns = holdings.map((holding) => {
    const turn = taken.get(holding.tenantId) ?? 0
    taken.set(holding.tenantId, turn + 1)
    return { holding, turn }
  })
  return turns.sort((a, b) => a.turn - b.turn).map(({ holding }) => holding)
}

function keyOf({ address, asset }: Holding): string {
  return `${address} ${asset.assetId}`
}

function isStateMissing(error: unknown): boolean {
  if (!(error instanceof ChainRefused) || error.cause === undefined) return false
  return classifyCallFailure(error.cause as RpcFailure).type === 'missing_state'
}

function notThereYet(blockNumber: number, cause?: unknown): Unavailable {
  return new Unavailable('rpc_unavailable', `No node has reached block ${blockNumber}.`, { cause })
}
