/** What is suspicious in a policy, and what hinders its publication. Pure. */
import { ValidationFailed } from '../core/errors.ts'
import {
  type Among,
  asksPeople,
  type Match,
  namesTypedData,
  OWN_WALLETS,
  type Policy,
  type Rule,
} from '../core/policy.ts'

export type Warning = {
  readonly code: 'never_matches' | 'never_decides' | 'allows_nothing' | 'unused_list' | 'asks_people'
  /** The id of the rule; `null` for the policy. */
  readonly rule: string | null
  readonly message: string
}

/** @returns what is valid and probably not meant, in the order of rules */
export function lintPolicy(policy: Policy): readonly Warning[] {
  const { rules, lists } = policy
  const used = new Set(rules.flatMap(({ match }) => namesIn(match)))
  return [
    ...rules.flatMap((rule) => lintRule(rule, policy)),
    ...(policy.default === 'deny' && rules.every(({ effect }) => effect !== 'allow')
      ? [
          warning(
            'allows_nothing',
            null,
            'The default denies and no rule allows: every request is refused. Add a rule that allows.',
          ),
        ]
      : []),
    ...Object.keys(lists)
      .filter((name) => !used.has(name))
      .map((name) =>
        warning('unused_list', null, `The list ${name} is used by no rule: name it in a rule, or leave it out.`),
      ),
  ]
}

/** @throws ValidationFailed for each rule that needs people who approve */
export function requirePublishable({ rules }: Policy): void {
  const items = rules.flatMap((rule, n) => {
    if (!asksPeople(rule)) return []
    const field = rule.effect === 'require_approval' ? `rules[${n}].effect` : `rules[${n}].on_unknown_price`
    const message = `${field} must not be require_approval in a published policy (rule ${rule.id}): nobody can approve yet. Use deny, or keep the draft.`
    return [{ field, code: 'approval_unavailable', message }]
  })
  if (items.length > 0) throw new ValidationFailed(items)
}

function lintRule(rule: Rule, policy: Policy): readonly Warning[] {
  const { id, effect, match } = rule
  const why = whyNever(rule, policy)
  if (why !== null) return [warning('never_matches', id, `The rule ${id} never matches: ${why}.`)]
  if (effect === 'allow' && policy.default === 'allow' && !namesTypedData(rule))
    return [
      warning(
        'never_decides',
        id,
        `The rule ${id} changes nothing: the default allows. Leave it out, or set default to deny.`,
      ),
    ]
  const denier = policy.rules.find((other) => other.effect === 'deny' && other.id !== id && covers(other.match, match))
  if (denier !== undefined && (effect !== 'deny' || !covers(match, denier.match) || denier.id < id))
    return [
      warning(
        'never_decides',
        id,
        `The rule ${id} changes nothing: ${denier.id} denies all that it is about. Leave one out.`,
      ),
    ]
  if (!asksPeople(rule)) return []
  return [warning('asks_people', id, `The rule ${id} asks for approvals: it can be tested, and not be published yet.`)]
}

function warning(code: Warning['code'], rule: string | null, message: string): Warning {
  return { code, rule, message }
}

/** Fields that only requests with one of these actions have. */
const FIELD_ACTIONS: Readonly<Record<string, readonly string[]>> = {
  buys: ['swap'],
  slippageBps: ['swap'],
  typedData: ['sign_typed_data', 'approve', 'transfer', 'nft_transfer'],
}

/** Whose items may be names of lists. */
const OF_ADDRESSES: ReadonlySet<string> = new Set(['recipients', 'contracts', 'spenders', 'verifyingContracts'])

/** A phrase; `null` if a request can match. */
function whyNever(rule: Rule, { lists }: Policy): string | null {
  const { match, effect } = rule
  const { actions, amount, amountUsd, slippageBps, assets, time } = match
  for (const [field, among] of amongsOf(match)) {
    if (!('in' in among)) continue
    const isEmpty = (item: string) => OF_ADDRESSES.has(field) && Object.hasOwn(lists, item) && lists[item]?.length === 0
    if (among.in.every(isEmpty)) return `${field} has nothing in it`
  }
  const has = (names: readonly string[]) => actions === undefined || actions.some((one) => names.includes(one))
  for (const [field, needed] of Object.entries(FIELD_ACTIONS))
    if (Object.hasOwn(match, field) && !has(needed)) return `no request with its actions has ${field}`
  const isAboutWallets = (match.wallets ?? match.walletTags ?? match.networks) !== undefined
  if (isAboutWallets && actions?.join() === 'api_key_change') return 'no request with its actions has a wallet'
  if (effect === 'allow' && actions?.join() === 'batch')
    return 'a batch is also a transfer, and a rule allows only what it names: add transfer'
  for (const bounds of [amount, amountUsd, slippageBps])
    if (bounds?.gte !== undefined && bounds.lt !== undefined && BigInt(bounds.gte) >= BigInt(bounds.lt))
      return 'gte is not less than lt'
  if (amount !== undefined && assets !== undefined && 'in' in assets && !assets.in.includes(amount.asset.assetId))
    return 'amount is of an asset that assets does not name'
  return time?.monthDays?.length === 0 || time?.days?.length === 0 ? 'time has no days' : null
}

function amongsOf({ typedData, ...match }: Match): readonly (readonly [string, Among])[] {
  const fields = Object.entries({ ...match, ...typedData })
  return fields.flatMap(([field, part]) => (isAmong(part) ? [[field, part] as const] : []))
}

function isAmong(part: unknown): part is Among {
  return typeof part === 'object' && part !== null && ('in' in part || 'notIn' in part)
}

function namesIn(match: Match): readonly string[] {
  return amongsOf(match)
    .flatMap(([, among]) => ('in' in among ? among.in : among.notIn))
    .filter((item) => item !== OWN_WALLETS)
}

/** Whether every request that the second is about is one of the first. May be false for some of which that is true. */
function covers(first: Match, second: Match): boolean {
  return Object.entries(first).every(([field, part]) => {
    const other = second[field as keyof Match]
    if (other === undefined) return false
    if (Array.isArray(part)) return (other as readonly unknown[]).every((one) => part.includes(one))
    if (isAmong(part) && isAmong(other)) return isWithin(other, part)
    return JSON.stringify(part) === JSON.stringify(other)
  })
}

function isWithin(inner: Among, outer: Among): boolean {
  if ('in' in outer) return 'in' in inner && areAmong(inner.in, outer.in)
  if ('in' in inner) return outer.notIn.length === 0
  return areAmong(outer.notIn, inner.notIn)
}

/** A set: each rule is compared with each other one, and may have hundreds of items. */
function areAmong(items: readonly string[], others: readonly string[]): boolean {
  const all = new Set(others)
  return items.every((item) => all.has(item))
}
