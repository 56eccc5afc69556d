/**
 * What is judged: a request as the list of what it can do. Each intent moves one asset to one recipient, or lets one spender
 * spend one asset, or calls one function. Addresses are in lower case.
 */
import type { Environment, Network } from '../core/networks.ts'
import type { Action } from '../core/policy.ts'

/** Instead of a value: it may be any. Rules that restrict match it, rules that allow do not. `null`: there is none. */
export const ANY = '*'
export type Any = typeof ANY

/** US dollars for a whole unit, and when that was the price. */
export type Price = { readonly usd: string; readonly at: string }

export type Moved = {
  /** As `assetKey`; `ANY` for whatever the wallet holds. */
  readonly key: string
  readonly symbol: string | null
  /** `null` for what has no known decimals. */
  readonly decimals: number | null
  /** Base units; `ANY` if there is no bound, or none is known. */
  readonly amount: bigint | Any
  readonly price: Price | null
}

export type Intent = {
  readonly actions: readonly Action[]
  /** Who gets what is moved. */
  readonly recipient: string | null
  /** Whether the recipient is a wallet of the tenant. */
  readonly isToOwnWallet: boolean
  /** Who may take what is moved, later. */
  readonly spender: string | null
  /** The called contract. */
  readonly contract: string | null
  /** Selector; `ANY` for call data that cannot be understood. */
  readonly method: string | null
  readonly typedData: {
    readonly primaryType: string
    readonly verifyingContract: string | null
    /** `ANY` if the signature is valid on every chain. */
    readonly chainId: number | Any
  } | null
  /** The most that it can move; `null` for nothing that has an amount. */
  readonly moves: Moved | null
  /** What a swap buys, as `assetKey`. */
  readonly buys: string | null
  readonly slippageBps: number | null
}

/** A request: one transaction, one signature, or one change. */
export type Judged = {
  readonly tenantId: string
  readonly environment: Environment
  /** ISO 8601 UTC. */
  readonly at: string
  /** The id of the API key; `null` for a process of the installation, `ANY` if nothing says which. */
  readonly apiKey: string | null
  /** This, the network and the chain are `null` for what is about no wallet. */
  readonly walletId: string | null
  readonly tags: readonly string[]
  readonly network: Network | null
  readonly chainId: number | null
  /** None for what no policy is about: a lane fills its gap. */
  readonly intents: readonly Intent[]
  /** The most that the fee takes. Only limits count it. */
  readonly fee: Moved | null
}

const NOTHING: Intent = {
  actions: [],
  recipient: null,
  isToOwnWallet: false,
  spender: null,
  contract: null,
  method: null,
  typedData: null,
  moves: null,
  buys: null,
  slippageBps: null,
}

/** An intent with these parts and no others. */
export function intentOf(parts: Partial<Intent> & Pick<Intent, 'actions'>): Intent {
  return { ...NOTHING, ...parts }
}

/** What moves without a bound: nothing says what it is. */
export const ANYTHING: Moved = { key: ANY, symbol: null, decimals: null, amount: ANY, price: null }

/** What cannot be understood: it could be each of these. */
export function unclear(actions: readonly Action[], parts: Partial<Intent> = {}): Intent {
  const all = [...new Set<Action>([...actions, 'transfer', 'approve', 'nft_transfer'])]
  return intentOf({ actions: all, recipient: ANY, spender: ANY, contract: ANY, method: ANY, moves: ANYTHING, ...parts })
}

const ASSET_ID = /^eip155:([1-9]\d{0,15})\/(?:slip44:\d{1,10}|(?:erc20|erc721|erc1155):(0x[0-9a-fA-F]{40}))$/

/** One name of an asset, whatever standard its id says: call data does not say it. `null` for what is no id of an asset. */
export function assetKey(assetId: string): string | null {
  const [, chainId, contract] = ASSET_ID.exec(assetId) ?? []
  return chainId === undefined ? null : keyOf(chainId, contract ?? null)
}

/** @param contract `null` for the native currency */
export function keyOf(chainId: number | string, contract: string | null): string {
  return contract === null ? `${chainId}/native` : `${chainId}/${contract.toLowerCase()}`
}
