/**
 * A policy in its normalised form, as it is recorded: addresses have their EIP-55 checksum, amounts are base units, US dollars
 * are millionths, both as decimal digits, and methods are selectors. Two texts that mean the same have one normalised form.
 */
import type { Network } from './networks.ts'

/** What a request does. It has each action that describes it: a batch is also a transfer. */
export const ACTIONS = [
  'transfer',
  'batch',
  'swap',
  'contract_call',
  'approve',
  'nft_mint',
  'nft_transfer',
  'sign_message',
  'sign_typed_data',
  'export',
  'api_key_change',
] as const
export type Action = (typeof ACTIONS)[number]

export const EFFECTS = ['allow', 'deny', 'limit', 'require_approval'] as const
export type Effect = (typeof EFFECTS)[number]

/** On whose counter a limit counts: one of the tenant, or one of each wallet, API key or recipient. */
export const PERS = ['tenant', 'wallet', 'api_key', 'recipient'] as const
export type Per = (typeof PERS)[number]

export const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
export type Day = (typeof DAYS)[number]

/** Rules of a policy. */
export const MAX_RULES = 100
/** Addresses of a policy, in its lists and in its rules. */
export const MAX_ADDRESSES = 10_000
/** Those that conditions compare, each list as often as a condition names it: a policy is compiled at once, and stays in memory. */
export const MAX_COMPARED_ADDRESSES = 100_000
export const MAX_LISTS = 100
/** A request has a counter of each of them for each of its recipients, and a call has up to 64. */
export const MAX_LIMITS_BY_RECIPIENT = 16
/** JSON of a policy without its lists. */
export const MAX_RULES_BYTES = 65_536
/** Items of a set in a rule. */
export const MAX_ITEMS = 500

/** In `recipients`: the addresses of all wallets of the tenant. */
export const OWN_WALLETS = 'own_wallets'

export type Among = { readonly in: readonly string[] } | { readonly notIn: readonly string[] }

/** Decimal digits. */
export type Bounds = { readonly gte?: string; readonly lt?: string }

export type LimitedAsset = { readonly assetId: string; readonly symbol: string; readonly decimals: number }

export type TimeWindow = {
  /** IANA name. */
  readonly zone: string
  readonly days?: readonly Day[]
  readonly monthDays?: readonly number[]
  /** Minutes of the day. With a `to` that is not later, until the next day: the conditions are about the day of `from`. */
  readonly from?: number
  readonly to?: number
}

/** All conditions must hold; without one, every request matches. */
export type Match = {
  readonly actions?: readonly Action[]
  readonly networks?: readonly Network[]
  readonly wallets?: Among
  readonly walletTags?: Among
  readonly apiKeys?: Among
  /** CAIP-19. */
  readonly assets?: Among
  /** What a swap buys, CAIP-19. */
  readonly buys?: Among
  /** Addresses and names of lists, as the two below. */
  readonly recipients?: Among
  readonly contracts?: Among
  readonly spenders?: Among
  /** Selectors. */
  readonly methods?: Among
  readonly typedData?: {
    readonly primaryTypes?: Among
    readonly verifyingContracts?: Among
    readonly chainIds?: readonly number[]
  }
  /** All that the request moves of the asset; base units. */
  readonly amount?: Bounds & { readonly asset: LimitedAsset }
  /** All that the request moves, millionths of US dollars. */
  readonly amountUsd?: Bounds
  /** Whether there is no bound to what can be moved. */
  readonly unlimited?: boolean
  /** Of a swap, hundredths of a percent. */
  readonly slippageBps?: { readonly gte?: number; readonly lt?: number }
  readonly time?: TimeWindow
}

export type RuleLimit = { readonly amount: string; readonly windowSeconds: number; readonly per: Per } & (
  | ({ readonly of: 'asset' } & LimitedAsset)
  | { readonly of: 'usd' }
  | { readonly of: 'count' }
)

export type Approval = { readonly group: string; readonly quorum: number; readonly expiresInSeconds: number }

export type UnknownPrice = 'deny' | 'require_approval'

export type Rule = {
  readonly id: string
  readonly description: string | null
  readonly match: Match
  /** What happens if the rule compares US dollars and a price is not known. */
  readonly onUnknownPrice: UnknownPrice
  /** Of `require_approval`, and of a rule that requires one without a price. */
  readonly approval?: Approval
} & ({ readonly effect: Exclude<Effect, 'limit'> } | { readonly effect: 'limit'; readonly limit: RuleLimit })

export type Policy = {
  /** What no rule allows or denies. */
  readonly default: 'allow' | 'deny'
  /** An older price counts as none. */
  readonly maxPriceAgeSeconds: number
  /** By name, sorted, each address once. */
  readonly lists: Readonly<Record<string, readonly string[]>>
  readonly rules: readonly Rule[]
}

/** Whether a rule compares US dollars. */
export function needsPrice(rule: Rule): boolean {
  return rule.match.amountUsd !== undefined || (rule.effect === 'limit' && rule.limit.of === 'usd')
}

/**
 * Whether a rule is about typed data that lets others spend, by name. One that is about everything, such as a number of transactions,
 * says nothing about which of that is signed.
 */
export function namesTypedData({ match: { actions = [], typedData, spenders } }: Rule): boolean {
  const isNamed = actions.includes('sign_typed_data') || actions.includes('approve')
  return isNamed || typedData !== undefined || spenders !== undefined
}

/** Whether a rule asks people in some case. */
export function asksPeople(rule: Rule): boolean {
  return rule.effect === 'require_approval' || (needsPrice(rule) && rule.onUnknownPrice === 'require_approval')
}
