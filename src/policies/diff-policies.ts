/** What differs between two policies, by rule and by list. The order in which rules were written says nothing. Pure. */
import { canonicalJson } from '../core/canonical-json.ts'
import type { Policy, Rule } from '../core/policy.ts'
import { presentRule } from './present-policy.ts'
import type { SentRule } from './sent-policy.ts'

export type PolicyDiff = {
  /** `null` for what is the same. */
  readonly default: { readonly before: Policy['default']; readonly after: Policy['default'] } | null
  readonly price_max_age_seconds: { readonly before: number; readonly after: number } | null
  readonly rules: {
    readonly added: readonly SentRule[]
    readonly removed: readonly SentRule[]
    readonly changed: readonly { readonly id: string; readonly before: SentRule; readonly after: SentRule }[]
  }
  /** Lists that differ. A list that is not there is empty. */
  readonly lists: readonly {
    readonly name: string
    readonly added: readonly string[]
    readonly removed: readonly string[]
  }[]
}

export function diffPolicies(before: Policy, after: Policy): PolicyDiff {
  const [old, current] = [rulesOf(before), rulesOf(after)]
  const missingIn = (rules: ReadonlyMap<string, Rule>) => (rule: Rule) => !rules.has(rule.id)
  return {
    default: before.default === after.default ? null : { before: before.default, after: after.default },
    price_max_age_seconds:
      before.maxPriceAgeSeconds === after.maxPriceAgeSeconds
        ? null
        : { before: before.maxPriceAgeSeconds, after: after.maxPriceAgeSeconds },
    rules: {
      added: after.rules.filter(missingIn(old)).map(presentRule),
      removed: before.rules.filter(missingIn(current)).map(presentRule),
      changed: before.rules.flatMap((rule) => {
        const other = current.get(rule.id)
        if (other === undefined || canonicalJson(other) === canonicalJson(rule)) return []
        return [{ id: rule.id, before: presentRule(rule), after: presentRule(other) }]
      }),
    },
    lists: diffLists(before.lists, after.lists),
  }
}

function rulesOf({ rules }: Policy): ReadonlyMap<string, Rule> {
  return new Map(rules.map((rule) => [rule.id, rule]))
}

function diffLists(before: Policy['lists'], after: Policy['lists']): PolicyDiff['lists'] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name) => {
    const [old, current] = [addressesOf(before, name), addressesOf(after, name)]
    const added = [...current].filter((address) => !old.has(address))
    const removed = [...old].filter((address) => !current.has(address))
    return added.length + removed.length === 0 ? [] : [{ name, added, removed }]
  })
}

function addressesOf(lists: Policy['lists'], name: string): ReadonlySet<string> {
  return new Set(Object.hasOwn(lists, name) ? lists[name] : [])
}
