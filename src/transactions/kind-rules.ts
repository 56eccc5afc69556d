/**
 * What a capability says of each kind of transaction that it opens: what may be signed, where it may go, and what shows that it
 * did what was promised. Transactions name no capability.
 */
import type { ChainLogEntry } from '../chain/blocks.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import type { ChainSettings } from '../chain/settings.ts'
import type { Declaration } from '../core/declaration.ts'
import type { Call } from './build-call.ts'
import type { Intent } from './intent.ts'

/** What is wrong with an intent of a kind; `null` when it may be signed. Pure. */
export type OpeningRule = (intent: Intent) => string | null

/** Whether the logs of its receipt show what the intent requests; `null` where no log would show it. Pure. */
export type EffectRule = (intent: Intent, logs: readonly ChainLogEntry[]) => boolean | null

/**
 * Why it must not go where it goes, by the settings of the process that signs: no process that accepts requests decides
 * that. `null` when it may. `undefined` for a chain that is not configured. Not asked of a cancellation, which calls nothing. Pure.
 */
export type DestinationRule = (intent: Intent, chain: ChainSettings | undefined) => string | null

/** Nothing is known where no node could simulate the call: it is retried later. */
export type BrokenPromise = {
  readonly ok: false
  readonly code: 'execution_reverted' | 'could_not_simulate'
  readonly reason: string
}
/**
 * Why a simulation shows that a call must not be signed, for now or permanently; `null` when it keeps what was promised.
 *
 * @param sinceBlock a block that the node must have seen
 */
export type PromiseCheck = (client: RpcReader, sinceBlock: number) => Promise<BrokenPromise | null>

export type Relayed = {
  /** Those that the request recorded, by host and port; `undefined` if it recorded none: then all of the process. */
  readonly of: (intent: Intent) => readonly string[] | undefined
  /** What operators call one: `swap`. */
  readonly noun: string
  /** The setting of a chain that names the relays, without the prefix of the chain. */
  readonly setting: string
}

export type KindRules = {
  /** Whoever signs asks it: the database lets a process append the events of its role with any content. */
  readonly rule: OpeningRule
  readonly destination?: DestinationRule
  /** What the logs of a successful execution must show: a call of an address without code succeeds too. */
  readonly effect?: EffectRule
  /** The check of a call whose data is not ours; `null` for one that needs none. */
  readonly promise?: (intent: Intent, call: Call) => PromiseCheck | null
  /** Its bytes go to private relays alone, where the process has some. */
  readonly relays?: Relayed
  /** If it reverts, it is asked which contract does: those that it calls can imitate the reasons of the called one. */
  readonly asksReverter?: true
}

/** By the type of the transaction. Invariant: a type without rules is not signed. */
export type RulesOfKinds = ReadonlyMap<string, KindRules>

/** The rules of a capability: an opening of its declaration without them does not compile. */
export type KindsOf<D extends Pick<Declaration, 'openings'>> = Readonly<Record<keyof D['openings'] & string, KindRules>>

/**
 * For blocks of which only transactions are recorded, and not what their contracts logged: a success is not called logged
 * there, since what follows from that log, such as the public event of a redemption, would be missing.
 */
export function missingAlone(kinds: RulesOfKinds): RulesOfKinds {
  return new Map(
    [...kinds].map(([type, { effect, ...rules }]) => [
      type,
      effect === undefined
        ? rules
        : { ...rules, effect: (intent, logs) => (effect(intent, logs) === false ? false : null) },
    ]),
  )
}

declare module '../capability.ts' {
  interface Capability {
    /** What it says of the transactions that it opens, by the opening event. Without rules none is signed. */
    readonly kinds?: Readonly<Record<string, KindRules>>
  }
}
