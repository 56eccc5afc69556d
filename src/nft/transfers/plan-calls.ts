/** The contract calls of a transfer. Pure. */
import type { GasRules } from '../../chain/forks.ts'
import type { TokenStandard } from '../contracts/collection.ts'
import { encodeErc721Transfer, encodeSafeBatchTransfer, encodeSafeTransfer } from '../contracts/encode-calls.ts'
import { transferGas } from '../contracts/gas.ts'
import type { TransferType } from './events.ts'
import type { HeldToken } from './find-holdings.ts'
import type { Fields, Item } from './read-fields.ts'

export type PlannedCall = {
  readonly to: string
  /** Indexes of the items that it moves. */
  readonly items: readonly number[]
  readonly data: string
  readonly gasLimit: bigint
  /** The mint that must be mined first. */
  readonly dependsOn: string | null
}

/**
 * ERC-721 has no batch: one call for each token. ERC-1155 moves any number of tokens to one receiver in one call.
 *
 * @param held of each item, in the order of the items
 */
export function planCalls(
  { from, items }: Fields,
  held: readonly HeldToken[],
  {
    rules,
    standard,
    transferType,
  }: { readonly rules: GasRules; readonly standard: TokenStandard; readonly transferType: TransferType },
): PlannedCall[] {
  const places = items.map((_item, n) => n)
  const groups =
    standard === 'ERC721' ? places.map((n) => [n]) : [...groupBy(places, (n) => items[n]?.to ?? '').values()]
  return groups.map((group) => {
    const moved = group.flatMap((n) => items[n] ?? [])
    const [first] = moved
    if (first === undefined) throw new Error('a group must have an item')
    return {
      to: first.to,
      items: group,
      data: encode(from, first, moved, { standard, transferType }),
      gasLimit: transferGas(rules, standard, group.length),
      dependsOn: lastMint(group.map((n) => held[n] ?? null)),
    }
  })
}

function encode(
  from: string,
  { to, tokenId, amount }: Item,
  moved: readonly Item[],
  { standard, transferType }: { readonly standard: TokenStandard; readonly transferType: TransferType },
): string {
  const transfer = { from, to, tokenId: BigInt(tokenId), amount }
  if (standard === 'ERC721' && transferType !== 'SAFE') return encodeErc721Transfer(transfer)
  if (moved.length === 1) return encodeSafeTransfer(standard, transfer)
  const tokens = moved.map((item) => ({ tokenId: BigInt(item.tokenId), amount: item.amount }))
  return encodeSafeBatchTransfer(from, to, tokens)
}

/** All mints of a collection are in one lane, which signs in the order of ids: when the last is mined, all are. */
function lastMint(held: readonly (HeldToken | null)[]): string | null {
  const mints = held.flatMap((token) => token?.minting?.transactionId ?? [])
  return mints.toSorted().at(-1) ?? null
}

function groupBy<Value>(values: readonly Value[], keyOf: (value: Value) => string): ReadonlyMap<string, Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value])
  return groups
}
