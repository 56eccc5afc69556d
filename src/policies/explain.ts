/** Why each rule is about a request or is not: each condition with its outcome. For people who simulate a request. Pure. */

import type { Effect } from '../core/policy.ts'
import { both, type CompiledPolicy, type Held, totalsOf } from './compile.ts'
import type { Judged } from './intent.ts'

export type ExplainedCondition = { readonly field: string; readonly held: Held }
export type ExplainedRule = {
  readonly rule: string
  readonly effect: Effect
  /** By intent, in their order: what all conditions make together. */
  readonly intents: readonly { readonly held: Held; readonly conditions: readonly ExplainedCondition[] }[]
}

/** `held` is `maybe` for what can be anything: rules that restrict match it, rules that allow do not. */
export function explainRules(policy: CompiledPolicy, request: Judged): readonly ExplainedRule[] {
  const atMs = Date.parse(request.at)
  const totals = totalsOf(request.intents, atMs - policy.maxPriceAgeMs)
  return policy.rules.map(({ rule, ofRequest, ofIntent }) => {
    const general = ofRequest.map(({ field, held }) => ({ field, held: held(request, atMs) }))
    return {
      rule: rule.id,
      effect: rule.effect,
      intents: request.intents.map((intent) => {
        const conditions = [...general, ...ofIntent.map(({ field, held }) => ({ field, held: held(intent, totals) }))]
        return { conditions, held: conditions.reduce<Held>((all, { held }) => both(all, held), 'yes') }
      }),
    }
  })
}
