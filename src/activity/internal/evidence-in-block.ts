/** What a block, traces of it and balances say of the wallets that it may have paid, for `toldOfWallet`. Pure. */
import type { TracedMove } from '../../chain/block-trace.ts'
import type { NodeTrace } from '../../chain/block-traces.ts'
import type { Block, BlockTransaction } from '../../chain/blocks.ts'
import { nativeTransfersOf } from '../../chain/native-logs.ts'
import type { Movement, TraceOfWallet, WalletEvidence } from './told-of-wallet.ts'

export type BlockSources = {
  /** Proven, or agreed where headers do not hash. */
  readonly block: Block
  /** How many nodes must say the same. */
  readonly quorum: number
  readonly traces: readonly NodeTrace[]
  /** By address in lower case: what could be read. */
  readonly changes: ReadonlyMap<string, NonNullable<WalletEvidence['change']>>
  /** Whether tips go to the address that the header names: on ethereum. Others pay whom their consensus names. */
  readonly paysTips: boolean
}

/** Whether logs show all that code moves in the block: then neither traces nor balances are read for it. */
export function isLogged({ income }: Block): boolean {
  return income?.logsNative === true
}

/** Addresses that code, withdrawals or tips paid or took from, in lower case: what to look up among the wallets. */
export function movedAddresses({ block, traces }: Pick<BlockSources, 'block' | 'traces'>): ReadonlySet<string> {
  const moves = isLogged(block) ? loggedMoves(block) : traces.flatMap((trace) => trace.moves)
  const { withdrawals = [], feeRecipient } = block.income ?? {}
  return new Set([
    ...moves.flatMap(({ from, to }) => [from, to]),
    ...withdrawals.map(({ address }) => address),
    ...(feeRecipient === undefined ? [] : [feeRecipient]),
  ])
}

/** @param addresses of wallets, in lower case */
export function evidenceInBlock(sources: BlockSources, addresses: Iterable<string>): Map<string, WalletEvidence> {
  const { block } = sources
  const logged = isLogged(block) ? sidesOf(block, loggedMoves(block)) : null
  const shown = logged === null ? sources.traces.map(({ host, moves }) => ({ host, sides: sidesOf(block, moves) })) : []
  const evidence = [...addresses].map((address): readonly [string, WalletEvidence] => {
    const own = {
      ...{ values: valuesOf(block, address), fees: feesOf(block, address), reward: rewardOf(sources, address) },
      ...{ withdrawals: withdrawnBy(block, address), change: sources.changes.get(address) ?? null },
    }
    const logs = logged === null ? null : (logged.get(address) ?? [])
    const traces = tracesOf(shown, address, sources.quorum)
    return [
      address,
      {
        ...{ ...own, logs, traces },
        get mentions() {
          return mentionsOf(block, address)
        },
      },
    ]
  })
  return new Map(evidence)
}

/** Without the values of transactions, as `movesIn` of a trace. */
function loggedMoves({ transactions }: Block): TracedMove[] {
  return transactions.flatMap((transaction) => {
    const { hash, value, status, from, to } = transaction
    const isFirstOwn = status === 'success' && value > 0n && from !== to && to !== null
    return nativeTransfersOf(transaction)
      .slice(isFirstOwn ? 1 : 0)
      .flatMap((move) => (move.to === null ? [] : [{ hash, from: move.from, to: move.to, amount: move.amount }]))
  })
}

type Sides = ReadonlyMap<string, readonly Movement[]>

/** By address. What a creating transaction gives the new contract is in the values of its sender. */
function sidesOf({ transactions }: Block, moves: readonly TracedMove[]): Sides {
  const creating = new Set(transactions.flatMap(({ hash, to, value }) => (to === null && value > 0n ? [hash] : [])))
  const sides = new Map<string, Movement[]>()
  const add = (address: string, movement: Movement): void => {
    const others = sides.get(address)
    if (others === undefined) sides.set(address, [movement])
    else others.push(movement)
  }
  for (const { hash, from, to, amount } of moves) {
    if (from === to) continue
    add(to, { hash, direction: 'in', counterparty: from, amount })
    // The first move of such a transaction: the set forgets it.
    if (!creating.delete(hash)) add(from, { hash, direction: 'out', counterparty: to, amount })
  }
  return sides
}

/** Nodes that show the same of this wallet, whatever they show of others. A quorum of them agrees. */
function tracesOf(
  shown: readonly { readonly host: string; readonly sides: Sides }[],
  address: string,
  quorum: number,
): TraceOfWallet[] {
  const groups = new Map<string, { readonly hosts: string[]; readonly movements: readonly Movement[] }>()
  for (const { host, sides } of shown) {
    const movements = sides.get(address) ?? []
    const key = movements.map((one) => [one.hash, one.direction, one.counterparty, one.amount].join(' ')).join('\n')
    const group = groups.get(key) ?? { hosts: [], movements }
    group.hosts.push(host)
    groups.set(key, group)
  }
  return [...groups.values()].map((group) => ({
    ...group,
    standing: group.hosts.length >= quorum ? 'agreed' : 'claimed',
  }))
}

function valuesOf({ transactions }: Block, address: string): bigint {
  return transactions.reduce((sum, { from, to, value, status }) => {
    if (status !== 'success' || value === 0n) return sum
    return sum + (to === address ? value : 0n) - (from === address ? value : 0n)
  }, 0n)
}

function feesOf({ transactions }: Block, address: string): bigint | null {
  const own = transactions.filter(({ from }) => from === address)
  if (own.some(({ hasBlobs }) => hasBlobs)) return null
  return own.reduce((sum, { gasUsed, effectiveGasPrice }) => sum + gasUsed * effectiveGasPrice, 0n)
}

/** EIP-1559: what is paid above the base fee. Nothing is known of a header that does not hash. */
function rewardOf({ block, paysTips }: BlockSources, address: string): bigint | null {
  const { income, baseFeePerGas, transactions } = block
  if (income === null) return null
  if (income.feeRecipient !== address) return 0n
  if (!paysTips || baseFeePerGas === null) return null
  return transactions.reduce((sum, { gasUsed, effectiveGasPrice }) => {
    const tip = effectiveGasPrice - baseFeePerGas
    return sum + gasUsed * (tip > 0n ? tip : 0n)
  }, 0n)
}

function withdrawnBy({ income }: Block, address: string): bigint {
  const own = income?.withdrawals.filter((one) => one.address === address) ?? []
  return own.reduce((sum, { amount }) => sum + amount, 0n)
}

/** Who pays a wallet sends as it, calls it, or names it in call data or logs, unless a contract has it in its storage. */
function mentionsOf({ transactions }: Block, address: string): string[] {
  const digits = address.slice(2)
  const names = ({ from, to, input, logs }: BlockTransaction): boolean =>
    from === address ||
    to === address ||
    input.includes(digits) ||
    logs.some(({ topics, data }) => topics.some((topic) => topic.endsWith(digits)) || data.includes(digits))
  return transactions.filter((one) => one.status === 'success' && names(one)).map(({ hash }) => hash)
}
