/** A policy as clients write it: what `readPolicy` reads as the same policy. Methods are selectors, whatever they were sent as. Pure. */
import { formatAmount } from '../core/money.ts'
import type { Among, Bounds, Match, Policy, Rule, RuleLimit, TimeWindow } from '../core/policy.ts'
import { USD_DECIMALS } from '../core/spend-limits.ts'
import type { SentAmong, SentBounds, SentLimit, SentMatch, SentPolicy, SentRule } from './sent-policy.ts'

export function presentPolicy({ default: fallback, maxPriceAgeSeconds, lists, rules }: Policy): SentPolicy {
  return { default: fallback, price_max_age_seconds: maxPriceAgeSeconds, lists, rules: rules.map(presentRule) }
}

export function presentRule(rule: Rule): SentRule {
  const { id, description, effect, match, onUnknownPrice, approval } = rule
  return {
    id,
    ...(description === null ? {} : { description }),
    effect,
    match: presentMatch(match),
    ...(effect === 'limit' ? { limit: presentLimit(rule.limit) } : {}),
    // It is refused where it says nothing.
    ...(onUnknownPrice === 'deny' ? {} : { on_unknown_price: onUnknownPrice }),
    ...(approval === undefined
      ? {}
      : {
          approval: { group: approval.group, quorum: approval.quorum, expires_in_seconds: approval.expiresInSeconds },
        }),
  }
}

function presentLimit(limit: RuleLimit): SentLimit {
  const window = { window_seconds: limit.windowSeconds, per: limit.per }
  if (limit.of === 'count') return { count: Number(limit.amount), ...window }
  if (limit.of === 'usd') return { amount_usd: formatAmount(BigInt(limit.amount), USD_DECIMALS), ...window }
  return { asset_id: limit.assetId, amount: formatAmount(BigInt(limit.amount), limit.decimals), ...window }
}

function presentMatch(match: Match): SentMatch {
  const { actions, networks, typedData, amount, amountUsd, unlimited, slippageBps, time } = match
  return {
    ...given('actions', actions, same),
    ...given('networks', networks, same),
    ...given('wallets', match.wallets, presentAmong),
    ...given('wallet_tags', match.walletTags, presentAmong),
    ...given('api_keys', match.apiKeys, presentAmong),
    ...given('assets', match.assets, presentAmong),
    ...given('buys', match.buys, presentAmong),
    ...given('recipients', match.recipients, presentAmong),
    ...given('contracts', match.contracts, presentAmong),
    ...given('spenders', match.spenders, presentAmong),
    ...given('methods', match.methods, presentAmong),
    ...given('typed_data', typedData, ({ primaryTypes, verifyingContracts, chainIds }) => ({
      ...given('primary_types', primaryTypes, presentAmong),
      ...given('verifying_contracts', verifyingContracts, presentAmong),
      ...given('chain_ids', chainIds, same),
    })),
    ...given('amount', amount, ({ asset, ...bounds }) => ({
      asset_id: asset.assetId,
      ...presentBounds(bounds, asset.decimals),
    })),
    ...given('amount_usd', amountUsd, (bounds) => presentBounds(bounds, USD_DECIMALS)),
    ...given('unlimited', unlimited, same),
    ...given('slippage_bps', slippageBps, same),
    ...given('time', time, presentTime),
  }
}

/** A field for a part that is there. */
function given<Name extends string, Part, Sent>(
  name: Name,
  part: Part | undefined,
  present: (part: Part) => Sent,
): { readonly [N in Name]?: Sent } {
  return part === undefined ? {} : ({ [name]: present(part) } as { readonly [N in Name]: Sent })
}

function same<Part>(part: Part): Part {
  return part
}

function presentAmong(among: Among): SentAmong {
  return 'in' in among ? { in: among.in } : { not_in: among.notIn }
}

function presentBounds({ gte, lt }: Bounds, decimals: number): SentBounds {
  const written = (digits: string) => formatAmount(BigInt(digits), decimals)
  return { ...given('gte', gte, written), ...given('lt', lt, written) }
}

function presentTime({ zone, days, monthDays, from, to }: TimeWindow): NonNullable<SentMatch['time']> {
  return {
    zone,
    ...given('days', days, same),
    ...given('month_days', monthDays, same),
    ...given('from', from, clockOf),
    ...given('to', to, clockOf),
  }
}

function clockOf(minutes: number): string {
  const two = (number: number) => `${number}`.padStart(2, '0')
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}
