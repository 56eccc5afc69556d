/**
 * What the logs of a successful execution must show. The status of a receipt alone proves nothing: a call of an address
 * without code succeeds.
 */
import type { ChainLogEntry } from '../chain/blocks.ts'
import type { Declaration } from '../core/declaration.ts'
import type { Intent } from './intent.ts'

/** Whether the logs of its receipt show what the intent requests; `null` where no log would show it. Pure. */
export type EffectRule = (intent: Intent, logs: readonly ChainLogEntry[]) => boolean | null

/** The rules of a capability, by its opening events. */
export type EffectRules<D extends Pick<Declaration, 'openings'>> = Readonly<
  Record<keyof D['openings'] & string, EffectRule>
>

/**
 * For blocks of which only transactions are recorded, and not what their contracts logged: a success is not called logged
 * there, since what follows from that log, such as the public event of a redemption, would be missing.
 */
export function missingAlone(rules: ReadonlyMap<string, EffectRule>): ReadonlyMap<string, EffectRule> {
  return new Map(
    [...rules].map(([type, rule]) => [type, (intent, logs) => (rule(intent, logs) === false ? false : null)]),
  )
}
