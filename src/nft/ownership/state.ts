/**
 * The holdings of tokens: the sum of the moves, so that undoing one adds its opposite. Pure.
 *
 * Invariant: `evolve` reads only the holders in its event, so a state with only these (load-owners.ts) evolves to the
 * same rows as the whole one (a replay).
 */
import type { MovesOfBlock, OwnershipEvent } from './events.ts'

export type Holding = {
  readonly tokenId: string
  readonly owner: string
  /** 0 once all of it was moved away: rows are written, never deleted. */
  readonly amount: bigint
  /** The block since which this holds; after a reorg, the newest remaining block. */
  readonly blockNumber: number
}

export type OwnershipState = {
  /** The address of the contract; `null` before the first move. */
  readonly place: Pick<MovesOfBlock, 'chainId' | 'contract'> | null
  /** Holdings by `pageOf`, then by `holdingKey`: an event copies the pages that it touches, not the collection. */
  readonly pages: ReadonlyMap<string, Page>
}

type Page = ReadonlyMap<string, Holding>

export const NOBODY: OwnershipState = { place: null, pages: new Map() }

/** 256 ids: with ids from 1 on, a collection of 100,000 tokens has 400 pages. */
const PAGE_BITS = 8n

function pageOf(tokenId: string): string {
  return (BigInt(tokenId) >> PAGE_BITS).toString()
}

export function holdingKey({ tokenId, owner }: Pick<Holding, 'tokenId' | 'owner'>): string {
  return `${tokenId} ${owner}`
}

/** A state with only these holdings. */
export function stateOf(place: OwnershipState['place'], holdings: readonly Holding[]): OwnershipState {
  const pages = new Map<string, Map<string, Holding>>()
  for (const holding of holdings) {
    const name = pageOf(holding.tokenId)
    const page = pages.get(name) ?? new Map<string, Holding>()
    pages.set(name, page.set(holdingKey(holding), holding))
  }
  return { place, pages }
}

export function evolve(before: OwnershipState, event: OwnershipEvent): OwnershipState {
  const { chainId, contract, moves } = event.data
  const undone = event.type === 'OwnershipReorged'
  const blockNumber = undone ? event.data.ancestorNumber : event.data.blockNumber
  const pages = new Map(before.pages)
  const copied = new Map<string, Map<string, Holding>>()
  const add = (tokenId: string, owner: string | null, delta: bigint) => {
    if (owner === null) return
    const name = pageOf(tokenId)
    const page = copied.get(name) ?? new Map(before.pages.get(name))
    if (!copied.has(name)) pages.set(name, page)
    copied.set(name, page)
    const key = holdingKey({ tokenId, owner })
    page.set(key, { tokenId, owner, amount: (page.get(key)?.amount ?? 0n) + delta, blockNumber })
  }
  for (const { tokenId, from, to, amount } of moves) {
    const units = undone ? -BigInt(amount) : BigInt(amount)
    add(tokenId, from, -units)
    add(tokenId, to, units)
  }
  return { place: { chainId, contract }, pages }
}

/** The holdings of `after` that differ from `before`. */
export function changedHoldings(before: OwnershipState, after: OwnershipState): Holding[] {
  const changed: Holding[] = []
  for (const [name, page] of after.pages) {
    const old = before.pages.get(name)
    if (old === page) continue
    for (const [key, holding] of page) if (old?.get(key) !== holding) changed.push(holding)
  }
  return changed
}
