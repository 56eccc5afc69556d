/** Which limits of a policy count what no other policy has counted. Pure. */
import type { Policy } from '../core/policy.ts'
import { type CompiledPolicy, compilePolicy } from './compile.ts'

/**
 * The rules whose counters would begin at zero, whatever was spent before.
 *
 * @param counted policies whose counters have what was spent before
 */
export function uncountedRules(policy: Policy, counted: readonly Policy[]): readonly string[] {
  const known = new Set(counted.flatMap((one) => limitsOf(compilePolicy(one, 0)).map(({ name }) => name)))
  return limitsOf(compilePolicy(policy, 0)).flatMap(({ name, rule }) => (known.has(name) ? [] : [rule]))
}

function limitsOf({ rules }: CompiledPolicy) {
  return rules.flatMap(({ limit }) => limit ?? [])
}
