/**
 * Finds in blocks what code, validators and tips paid to wallets. The cost grows with the blocks: one trace of each, and two proofs
 * of each wallet in it that a quorum does not agree on. A block whose receipts log native currency costs no request.
 */
import type { BalanceChange } from '../../chain/balance-changes.ts'
import type { BlockTraces } from '../../chain/block-traces.ts'
import type { Block } from '../../chain/blocks.ts'
import { evidenceInBlock, isLogged, movedAddresses } from './evidence-in-block.ts'
import { namedAddresses } from './named-addresses.ts'
import { type ToldOfWallet, toldOfWallet } from './told-of-wallet.ts'

export type InternalSources = {
  readonly traces: Pick<BlockTraces, 'read'>
  /** How many nodes must say the same. */
  readonly quorum: number
  readonly changesOf: (block: Block, addresses: readonly string[]) => Promise<ReadonlyMap<string, BalanceChange>>
  /** Those of the addresses that are of wallets of the chain, in lower case. */
  readonly walletsAmong: (addresses: ReadonlySet<string>) => Promise<ReadonlySet<string>>
  /** Whether tips go to the address that a header names. */
  readonly paysTips: boolean
}

/** By address of the wallet, in lower case; only where something is told, or refuted. */
export type ToldInBlock = { readonly block: Block; readonly told: ReadonlyMap<string, ToldOfWallet> }

/** @param blocks in their order. The result has the same. @throws the errors of `walletsAmong` and `changesOf` */
export async function findInternal(sources: InternalSources, blocks: readonly Block[]): Promise<ToldInBlock[]> {
  const found: ToldInBlock[] = []
  for (const block of blocks) found.push({ block, told: await toldIn(sources, block) })
  return found
}

async function toldIn(sources: InternalSources, block: Block): Promise<ReadonlyMap<string, ToldOfWallet>> {
  const traces = isLogged(block) ? [] : await sources.traces.read(block, 1)
  const isBlind = !isLogged(block) && traces.length === 0
  const wallets = await sources.walletsAmong(
    new Set([...movedAddresses({ block, traces }), ...(isBlind ? namedAddresses(block) : [])]),
  )
  if (wallets.size === 0) return new Map()
  // One node is the quorum: its trace is as good as its balances.
  const needsBalances = !isLogged(block) && (isBlind || sources.quorum > 1)
  const changes = needsBalances ? await sources.changesOf(block, [...wallets]) : new Map<string, BalanceChange>()
  const isOpen = !isLogged(block) && !isBlind && [...wallets].some((address) => !changes.has(address))
  const all = isOpen && sources.quorum > 1 ? await sources.traces.read(block, sources.quorum, traces) : traces
  const { quorum, paysTips } = sources
  const evidence = evidenceInBlock({ block, quorum, traces: all, changes, paysTips }, wallets)
  const told = [...evidence].map(([address, one]) => [address, toldOfWallet(one)] as const)
  return new Map(told.filter(([, { transfers, refuted }]) => transfers.length + refuted.length > 0))
}
