/**
 * Makes the conditions of a policy ready to be compared: sets instead of lists, bigint instead of digits. A condition is certain,
 * impossible or open: what may be anything could meet it. Pure.
 */
import {
  type Among,
  type Bounds,
  type Match,
  namesTypedData,
  needsPrice,
  OWN_WALLETS,
  type Policy,
  type Rule,
} from '../core/policy.ts'
import { millionthsOf } from '../core/spend-limits.ts'
import { type CompiledLimit, compileLimit, type Lists, withAddresses } from './compile-limit.ts'
import { ANY, assetKey, type Intent, type Judged, type Moved } from './intent.ts'
import { isWithin } from './local-time.ts'

/** `maybe`: what is judged may be anything. `unpriced`: the price is not known. */
export type Held = 'no' | 'unpriced' | 'maybe' | 'yes'

/** What a request moves in all, by asset, and in millionths of US dollars. */
export type Totals = {
  readonly byAsset: ReadonlyMap<string, bigint>
  /** Assets that move without a bound; `ANY` among them is every asset. */
  readonly unbounded: ReadonlySet<string>
  /** `ANY` without a bound, `null` if a price is not known. */
  readonly usd: bigint | typeof ANY | null
  /** Of each intent. */
  readonly values: readonly Value[]
}

/** Millionths of US dollars, or why they cannot be counted. */
export type Value = bigint | 'uncounted' | 'unknown_price'

export type RequestCondition = {
  readonly field: string
  readonly held: (request: Judged, atMs: number) => Held
}
export type IntentCondition = { readonly field: string; readonly held: (intent: Intent, totals: Totals) => Held }

export type CompiledRule = {
  readonly rule: Rule
  readonly ofRequest: readonly RequestCondition[]
  readonly ofIntent: readonly IntentCondition[]
  readonly limit: CompiledLimit | null
}

export type CompiledPolicy = {
  readonly version: number
  readonly default: Policy['default']
  readonly maxPriceAgeMs: number
  /** In the order of their ids: the order in which they were written says nothing. */
  readonly rules: readonly CompiledRule[]
  /** Whether a rule is about the wallets of the tenant. */
  readonly namesOwnWallets: boolean
  /** Whether a rule compares US dollars. */
  readonly needsPrices: boolean
  /** Whether it says which typed data that lets others spend is signed. */
  readonly rulesTypedData: boolean
}

/** @param version that decisions name */
export function compilePolicy(policy: Policy, version: number): CompiledPolicy {
  const lists = new Map(Object.entries(policy.lists).map(([name, addresses]) => [name, addresses.map(lower)]))
  const rules = policy.rules.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((rule) => compileRule(rule, lists))
  const namesOwnWallets = policy.rules.some(({ match: { recipients = { in: [] } } }) =>
    ('in' in recipients ? recipients.in : recipients.notIn).includes(OWN_WALLETS),
  )
  const maxPriceAgeMs = policy.maxPriceAgeSeconds * 1_000
  const rulesTypedData = policy.default === 'deny' || policy.rules.some(namesTypedData)
  const needsPrices = policy.rules.some(needsPrice)
  return { version, default: policy.default, maxPriceAgeMs, rules, namesOwnWallets, needsPrices, rulesTypedData }
}

function compileRule(rule: Rule, lists: Lists): CompiledRule {
  const { match } = rule
  return {
    rule,
    ofRequest: requestConditions(match),
    ofIntent: [...plainConditions(match), ...addressConditions(match, lists), ...amountConditions(match)],
    limit: rule.effect === 'limit' ? compileLimit(rule, rule.limit, lists) : null,
  }
}

/** A condition for a part of the match that is there. */
function given<Part, Condition>(part: Part | undefined, make: (part: Part) => Condition): Condition[] {
  return part === undefined ? [] : [make(part)]
}

function requestConditions({ networks, wallets, walletTags, apiKeys, time }: Match): readonly RequestCondition[] {
  return [
    ...given(networks, (names) => ({
      field: 'networks',
      held: ({ network }: Judged) => yesIf(network !== null && names.includes(network)),
    })),
    ...given(wallets, (among) => {
      const isIn = member(among, String)
      return { field: 'wallets', held: ({ walletId }: Judged) => isIn(walletId) }
    }),
    ...given(walletTags, (among) => {
      const [names, wanted] = setOf(among, String)
      const held = ({ walletId, tags }: Judged) =>
        yesIf(walletId !== null && tags.some((tag) => names.has(tag)) === wanted)
      return { field: 'wallet_tags', held }
    }),
    ...given(apiKeys, (among) => {
      const isIn = member(among, String)
      return { field: 'api_keys', held: ({ apiKey }: Judged) => isIn(apiKey) }
    }),
    ...given(time, (window) => ({
      field: 'time',
      held: (_request: Judged, atMs: number) => yesIf(isWithin(window, atMs)),
    })),
  ]
}

function plainConditions(match: Match): readonly IntentCondition[] {
  const { actions, assets, buys, methods, typedData, slippageBps } = match
  return [
    ...given(actions, (names) => {
      const held = (intent: Intent): Held => {
        const named = intent.actions.filter((action) => names.includes(action)).length
        return named === 0 ? 'no' : named === intent.actions.length ? 'yes' : 'maybe'
      }
      return { field: 'actions', held }
    }),
    ...given(assets, (among) => ({
      field: 'assets',
      held: by(member(among, toKey), ({ moves }) => moves?.key ?? null),
    })),
    ...given(buys, (among) => ({ field: 'buys', held: by(member(among, toKey), (intent) => intent.buys) })),
    ...given(methods, (among) => ({ field: 'methods', held: by(member(among, String), ({ method }) => method) })),
    ...given(typedData?.primaryTypes, (among) => ({
      field: 'typed_data.primary_types',
      held: by(member(among, String), (intent) => intent.typedData?.primaryType ?? null),
    })),
    ...given(typedData?.chainIds, (ids) => ({
      field: 'typed_data.chain_ids',
      held: by(member({ in: ids.map(String) }, String), ({ typedData: data }) =>
        data === null ? null : `${data.chainId}`,
      ),
    })),
    ...given(slippageBps, ({ gte = 0, lt = Number.POSITIVE_INFINITY }) => ({
      field: 'slippage_bps',
      held: ({ slippageBps: bps }: Intent) => yesIf(bps !== null && bps >= gte && bps < lt),
    })),
  ]
}

function addressConditions(match: Match, lists: Lists): readonly IntentCondition[] {
  const { recipients, contracts, spenders, typedData } = match
  const addresses = (among: Among) => withAddresses(among, lists)
  return [
    ...given(recipients, (among) => {
      const isIn = member(addresses(among), String)
      const [names, wanted] = setOf(among, String)
      const isOwnNamed = names.has(OWN_WALLETS)
      const held = ({ recipient, isToOwnWallet }: Intent) =>
        isOwnNamed && isToOwnWallet ? yesIf(wanted) : isIn(recipient)
      return { field: 'recipients', held }
    }),
    ...given(contracts, (among) => ({
      field: 'contracts',
      held: by(member(addresses(among), String), ({ contract }) => contract),
    })),
    ...given(spenders, (among) => ({
      field: 'spenders',
      held: by(member(addresses(among), String), ({ spender }) => spender),
    })),
    ...given(typedData?.verifyingContracts, (among) => ({
      field: 'typed_data.verifying_contracts',
      held: by(member(addresses(among), String), (intent) => intent.typedData?.verifyingContract ?? null),
    })),
  ]
}

function amountConditions({ amount, amountUsd, unlimited }: Match): readonly IntentCondition[] {
  return [
    ...given(unlimited, (wanted) => ({
      field: 'unlimited',
      held: ({ moves }: Intent) => yesIf(moves !== null && (moves.amount === ANY) === wanted),
    })),
    ...given(amount, ({ asset, ...bounds }) => {
      const key = assetKey(asset.assetId) ?? ''
      const isBetween = between(bounds)
      const held = ({ moves }: Intent, { byAsset, unbounded }: Totals): Held => {
        if (moves === null || (moves.key !== key && moves.key !== ANY)) return 'no'
        return unbounded.has(key) || unbounded.has(ANY) ? 'maybe' : yesIf(isBetween(byAsset.get(key) ?? 0n))
      }
      return { field: 'amount', held }
    }),
    ...given(amountUsd, (bounds) => {
      const isBetween = between(bounds)
      const held = ({ moves }: Intent, { usd }: Totals): Held => {
        if (moves === null) return 'no'
        return usd === null ? 'unpriced' : usd === ANY ? 'maybe' : yesIf(isBetween(usd))
      }
      return { field: 'amount_usd', held }
    }),
  ]
}

function between({ gte = '0', lt }: Bounds): (amount: bigint) => boolean {
  const [least, below] = [BigInt(gte), lt === undefined ? null : BigInt(lt)]
  return (amount) => amount >= least && (below === null || amount < below)
}

function yesIf(condition: boolean): Held {
  return condition ? 'yes' : 'no'
}

/** Whether a value is among these. What is not there is among none, and not among those that are not, either. */
function member(among: Among, normal: (item: string) => string): (value: string | null) => Held {
  const [set, wanted] = setOf(among, normal)
  // Nothing is in a set without items, and everything is not.
  const any = set.size === 0 ? yesIf(!wanted) : 'maybe'
  return (value) => (value === null ? 'no' : value === ANY ? any : yesIf(set.has(value) === wanted))
}

function by(held: (value: string | null) => Held, read: (intent: Intent) => string | null): (intent: Intent) => Held {
  return (intent) => held(read(intent))
}

function setOf(among: Among, normal: (item: string) => string): readonly [ReadonlySet<string>, boolean] {
  return 'in' in among ? [new Set(among.in.map(normal)), true] : [new Set(among.notIn.map(normal)), false]
}

function toKey(assetId: string): string {
  return assetKey(assetId) ?? assetId
}

function lower(text: string): string {
  return text.toLowerCase()
}

/** @param oldestMs when a price must have been known to count */
export function usdOf(moves: Moved | null, oldestMs: number): Value {
  if (moves === null) return 0n
  const { amount, decimals, price } = moves
  if (amount === ANY) return 'uncounted'
  if (amount === 0n) return 0n
  return price === null || decimals === null || !(Date.parse(price.at) >= oldestMs)
    ? 'unknown_price'
    : millionthsOf(amount, decimals, price.usd)
}

/** What the intents of a request move together. @param oldestMs as of `usdOf` */
export function totalsOf(intents: readonly Intent[], oldestMs: number): Totals {
  const byAsset = new Map<string, bigint>()
  const unbounded = new Set<string>()
  const values: Value[] = []
  let usd: Totals['usd'] = 0n
  for (const { moves } of intents) {
    const value = usdOf(moves, oldestMs)
    values.push(value)
    if (moves === null) continue
    const { key, amount } = moves
    if (amount === ANY) unbounded.add(key)
    else byAsset.set(key, (byAsset.get(key) ?? 0n) + amount)
    // A bound is missing for certain, whatever the prices of the others.
    if (value === 'uncounted' || usd === ANY) usd = ANY
    else usd = value === 'unknown_price' || usd === null ? null : usd + value
  }
  return { byAsset, unbounded, usd, values }
}

/** What all of these make together: the least certain one. */
const RANK = { no: 0, unpriced: 1, maybe: 2, yes: 3 } as const
export function both(one: Held, other: Held): Held {
  return RANK[one] <= RANK[other] ? one : other
}
