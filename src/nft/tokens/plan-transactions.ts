/** Distributes tokens over transactions, in order: as many in one as its gas allows. Pure. */
import type { GasRules } from '../../chain/forks.ts'
import type { CollectionType, Standard } from '../collections/events.ts'
import { encodeMint, encodeMintBatch } from '../contracts/encode-calls.ts'
import { mintGas } from '../contracts/gas.ts'
import { NFT_GAS } from '../contracts/gas-rules.ts'
import type { AddressedItem } from './read-items.ts'

export type PlannedTransaction = {
  readonly firstTokenId: number
  readonly items: readonly AddressedItem[]
  readonly data: string
  readonly gasLimit: bigint
}

export type MintPlan = {
  readonly rules: GasRules
  readonly standard: Standard
  readonly collectionType: CollectionType
  readonly firstTokenId: number
  readonly items: readonly AddressedItem[]
}

/** @param maxGas maximum gas of one transaction; a single token is minted regardless */
export function planTransactions(
  plan: MintPlan,
  maxGas = NFT_GAS[plan.rules.set].mints,
): readonly PlannedTransaction[] {
  const { rules, standard, collectionType, firstTokenId, items } = plan
  const planned: PlannedTransaction[] = []
  for (let start = 0; start < items.length; ) {
    let count = 1
    while (start + count < items.length && mintGas(rules, standard, collectionType, count + 1) <= maxGas) count += 1
    const part = items.slice(start, start + count)
    planned.push({
      firstTokenId: firstTokenId + start,
      items: part,
      data: encode(standard, BigInt(firstTokenId + start), part),
      gasLimit: mintGas(rules, standard, collectionType, count),
    })
    start += count
  }
  return planned
}

function encode(standard: Standard, firstTokenId: bigint, items: readonly AddressedItem[]): string {
  const tokens = items.map(({ recipient, amount, content }) => ({ recipient, amount, digest: content.digest }))
  const [only, ...more] = tokens
  return only !== undefined && more.length === 0
    ? encodeMint(standard, firstTokenId, only)
    : encodeMintBatch(standard, firstTokenId, tokens)
}
