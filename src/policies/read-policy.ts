/**
 * Reads a policy that has the structure of its schema into its normalised form, or refuses it with every problem. Sizes are checked
 * first, so that what is too large costs nothing else.
 */
import { parseAddress } from '../chain/address.ts'
import { ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { createMistakes, type Path } from '../core/mistakes.ts'
import { parseAmount } from '../core/money.ts'
import {
  type Approval,
  asksPeople,
  type LimitedAsset,
  MAX_ADDRESSES,
  MAX_COMPARED_ADDRESSES,
  MAX_LIMITS_BY_RECIPIENT,
  MAX_RULES,
  MAX_RULES_BYTES,
  needsPrice,
  OWN_WALLETS,
  type Policy,
  type Rule,
  type RuleLimit,
} from '../core/policy.ts'
import { LONGEST_WINDOW_SECONDS, SHORTEST_WINDOW_SECONDS, USD_DECIMALS } from '../core/spend-limits.ts'
import { type Reading, readAsset, readMatch } from './read-match.ts'
import type { SentAmong, SentLimit, SentPolicy, SentRule } from './sent-policy.ts'

/** A day, and an hour for the feed: stable coins are updated once a day. */
const PRICE_MAX_AGE_SECONDS = 90_000
const APPROVAL_SECONDS = 86_400

/** Finds an asset that the tenant may name, by its id. */
export type AssetOf = (assetId: string) => Promise<LimitedAsset | null>

/** Reads a policy of a request, whose assets are looked up first. @throws as `readPolicy` */
export async function readSentPolicy(sent: SentPolicy, assetOf: AssetOf): Promise<Policy> {
  const named = sent.rules.flatMap(({ match, limit }) => [match?.amount?.asset_id ?? [], limit?.asset_id ?? []].flat())
  const ids = [...new Set(named)]
  const found = await Promise.all(ids.map(assetOf))
  const assets = new Map(ids.map((id, n) => [id, found[n] ?? null]))
  return readPolicy(sent, (assetId) => assets.get(assetId) ?? null)
}

/**
 * @param assetOf finds an asset that the tenant may name, by its id
 * @throws ValidationFailed naming every field, its rule and what to do
 */
export function readPolicy(sent: SentPolicy, assetOf: (assetId: string) => LimitedAsset | null): Policy {
  requireSize(sent)
  const mistakes = createMistakes()
  const lists = Object.entries(sent.lists ?? {}).map(([name, addresses]) => {
    if (name === OWN_WALLETS)
      mistakes.note(
        ['lists', name],
        'not_allowed',
        'is the name of the list of the wallets of the tenant: use another name',
      )
    const read = addresses.flatMap(
      (address, n) => mistakes.attempt(() => parseAddress(address, fieldPath(['lists', name, n]))) ?? [],
    )
    return [name, [...new Set(read)].sort()] as const
  })
  const reading: Reading = { mistakes, assetOf, lists: lists.map(([name]) => name) }
  const seen = new Map<string, number>()
  const rules = sent.rules.flatMap((rule, n) => {
    const first = seen.get(rule.id)
    if (first !== undefined)
      mistakes.note(
        ['rules', n, 'id'],
        'duplicate',
        `is the id of rules[${first}] too: give each rule an id of its own`,
      )
    seen.set(rule.id, first ?? n)
    return mistakes.isFull() ? [] : (readRule(rule, reading, ['rules', n]) ?? [])
  })
  mistakes.settle()
  return {
    default: sent.default,
    maxPriceAgeSeconds: sent.price_max_age_seconds ?? PRICE_MAX_AGE_SECONDS,
    lists: Object.fromEntries(lists.sort(([a], [b]) => (a < b ? -1 : 1))),
    rules: rules.sort((a, b) => (a.id < b.id ? -1 : 1)),
  }
}

/** @throws ValidationFailed `too_many`, `too_large` */
function requireSize({ lists = {}, ...rest }: SentPolicy): void {
  if (rest.rules.length > MAX_RULES) {
    const rule = `rules must be at most ${MAX_RULES}, not ${rest.rules.length}: put what differs by address into lists.`
    throw ValidationFailed.field('rules', 'too_many', rule)
  }
  const byRecipient = rest.rules.filter(({ limit }) => limit?.per === 'recipient').length
  if (byRecipient > MAX_LIMITS_BY_RECIPIENT) {
    const rule = `rules must have at most ${MAX_LIMITS_BY_RECIPIENT} limits per recipient, not ${byRecipient}: use fewer of them.`
    throw ValidationFailed.field('rules', 'too_many', rule)
  }
  const named = Object.values(lists).reduce((sum, { length }) => sum + length, 0)
  const inRules = rest.rules.flatMap(({ match = {} }) => {
    const { recipients, contracts, spenders, typed_data: typed } = match
    return [recipients, contracts, spenders, typed?.verifying_contracts].flatMap((one) => [...new Set(itemsOf(one))])
  })
  if (named + inRules.length > MAX_ADDRESSES) {
    const rule = `lists must have at most ${MAX_ADDRESSES} addresses, with those in rules, not ${named + inRules.length}: use fewer addresses.`
    throw ValidationFailed.field('lists', 'too_many', rule)
  }
  const sizes = new Map(Object.entries(lists).map(([name, { length }]) => [name, length]))
  const compared = inRules.reduce((sum, item) => sum + (sizes.get(item) ?? 1), 0)
  if (compared > MAX_COMPARED_ADDRESSES) {
    const rule = `rules must name at most ${MAX_COMPARED_ADDRESSES} addresses, with those of each list wherever it is named, not ${compared}: name large lists in fewer conditions.`
    throw ValidationFailed.field('rules', 'too_many', rule)
  }
  const bytes = Buffer.byteLength(JSON.stringify(rest))
  if (bytes <= MAX_RULES_BYTES) return
  const rule = `rules have ${bytes} bytes of JSON, but at most ${MAX_RULES_BYTES} are allowed: use fewer rules, or put addresses into lists.`
  throw ValidationFailed.field('rules', 'too_large', rule)
}

function itemsOf({ in: wanted = [], not_in: unwanted = [] }: SentAmong = {}): readonly string[] {
  return [...wanted, ...unwanted]
}

function readRule(sent: SentRule, reading: Reading, path: Path): Rule | undefined {
  const { id, effect, description = null, match = {}, limit: sentLimit, approval: sentApproval } = sent
  const { mistakes } = reading
  const limit = readLimit(sentLimit, sent, reading, path)
  const approval: Approval | undefined = sentApproval && {
    group: sentApproval.group,
    quorum: sentApproval.quorum,
    expiresInSeconds: sentApproval.expires_in_seconds ?? APPROVAL_SECONDS,
  }
  const parts = {
    id,
    description,
    match: readMatch(match, reading, [...path, 'match']),
    onUnknownPrice: sent.on_unknown_price ?? 'deny',
    ...(approval === undefined ? {} : { approval }),
  }
  if (effect === 'limit') {
    if (limit === undefined) return undefined
    return checked({ ...parts, effect, limit }, sent, reading, path)
  }
  if (sentLimit !== undefined)
    mistakes.note(
      [...path, 'limit'],
      'not_allowed',
      'is for rules with the effect limit: leave it out, or change the effect',
    )
  return checked({ ...parts, effect }, sent, reading, path)
}

function checked(rule: Rule, sent: SentRule, { mistakes }: Reading, path: Path): Rule {
  if (sent.on_unknown_price !== undefined && (!needsPrice(rule) || rule.effect === 'allow')) {
    const advice = 'is for rules that restrict and compare US dollars: leave it out, or use amount_usd'
    mistakes.note([...path, 'on_unknown_price'], 'not_allowed', advice)
  }
  if (asksPeople(rule) && rule.approval === undefined)
    mistakes.note(
      [...path, 'approval'],
      'required',
      'is required, with group and quorum: the rule asks for an approval',
    )
  if (!asksPeople(rule) && rule.approval !== undefined)
    mistakes.note(
      [...path, 'approval'],
      'not_allowed',
      'is for rules that ask for an approval: leave it out, or change the effect',
    )
  return rule
}

function readLimit(
  sent: SentLimit | undefined,
  { effect }: SentRule,
  reading: Reading,
  path: Path,
): RuleLimit | undefined {
  const { mistakes } = reading
  const place = [...path, 'limit']
  if (effect !== 'limit') return undefined
  if (sent === undefined) {
    mistakes.note(place, 'required', 'is required, with window_seconds and one of amount, amount_usd and count')
    return undefined
  }
  const { asset_id: assetId, amount, amount_usd: usd, count, window_seconds: windowSeconds, per = 'tenant' } = sent
  if (windowSeconds < SHORTEST_WINDOW_SECONDS || windowSeconds > LONGEST_WINDOW_SECONDS || windowSeconds % 60 !== 0) {
    const rule = `must be ${SHORTEST_WINDOW_SECONDS} to ${LONGEST_WINDOW_SECONDS} seconds (1 hour to 31 days), a multiple of 60`
    mistakes.note([...place, 'window_seconds'], 'out_of_range', rule)
  }
  const given = [amount, usd, count].filter((one) => one !== undefined).length
  if (given !== 1 || (amount === undefined) !== (assetId === undefined)) {
    mistakes.note(place, 'invalid', 'must have amount with asset_id, or amount_usd, or count: send one of them')
    return undefined
  }
  const shared = { windowSeconds, per }
  if (count !== undefined) return { of: 'count', amount: `${count}`, ...shared }
  const units = (text: string, decimals: number, name: string) =>
    mistakes.attempt(() => parseAmount(text, decimals, fieldPath([...place, name])).toString()) ?? '0'
  if (usd !== undefined) return { of: 'usd', amount: units(usd, USD_DECIMALS, 'amount_usd'), ...shared }
  const asset = readAsset(assetId ?? '', reading, [...place, 'asset_id'])
  return asset === null
    ? undefined
    : { of: 'asset', ...asset, amount: units(amount ?? '', asset.decimals, 'amount'), ...shared }
}
