/**
 * How much a signature may cost beyond the hold of its request. The lane stays within these limits, and mpc parties
 * refuse what exceeds them: a coordinator that lies about fees can waste little, and each increase is in the log before
 * the next one. Pure; wei per gas.
 */
import { TAG_ROOM_WEI } from '../chain/fees.ts'
import { GAS_BOUNDS, type GasRules } from '../chain/forks.ts'
import { largest, smallest } from '../core/money.ts'
import type { Fees, Intent, IntentParts } from './intent.ts'
import { partNames } from './kinds.ts'

type Reserved<Field extends keyof Intent['reserved']> = { readonly reserved: Pick<Intent['reserved'], Field> }
type Reserving = Reserved<'gasLimit'> & Pick<Intent, 'data' | keyof IntentParts>

/**
 * The maximum gas of a call, also of one that is signed after a fork which made it dearer. It knows no fork, so that those
 * who check it need no change when a fork changes what calls cost.
 */
export function mostGas(intent: Reserving): bigint {
  const { data, reserved } = intent
  const isOwnCall = data !== null && !runsForeignCode(intent)
  return isOwnCall ? largest(usualMost(intent), GAS_BOUNDS.ownCallTimes * reserved.gasLimit) : usualMost(intent)
}

/** The code that a client's call or a swap runs is not ours: it could use whatever it may, and be of any length. */
export function runsForeignCode(intent: object): boolean {
  return partNames().some((name) => (intent as Readonly<Record<string, unknown>>)[name] !== undefined)
}

/** Without a fork: twice the reserved gas, or a fixed amount more if that is higher. */
export function usualMost({ reserved }: Reserved<'gasLimit'>): bigint {
  return largest(2n * reserved.gasLimit, reserved.gasLimit + GAS_BOUNDS.extra)
}

/** What a signer knows beside: what the nodes of the chain accept, and since when its fork has its rules, if they say so. */
export type SigningRules = { readonly rules: Pick<GasRules, 'transaction'>; readonly since: string | null }

/** The same for who signs: more than the usual only for what was accepted before the fork. */
export function mostSignable(intent: Reserving & Pick<Intent, 'requestedAt'>, { rules, since }: SigningRules): bigint {
  return smallest(isBeforeFork(intent, since) ? mostGas(intent) : usualMost(intent), rules.transaction)
}

export function isBeforeFork({ requestedAt }: Pick<Intent, 'requestedAt'>, since: string | null): boolean {
  return since !== null && requestedAt < since
}

/**
 * The maximum fee of the first bytes: twice the reserved fee, which itself includes twice the base fee of that time; and
 * what a tag adds, which matters only where fees are a few thousand wei.
 */
export function mostFirstFee({ reserved }: Reserved<'maxFeePerGas'>): bigint {
  return 2n * reserved.maxFeePerGas + TAG_ROOM_WEI
}

/** The maximum fee of a replacement: twice that of the bytes that it replaces, and what a tag adds. */
export function mostReplacementFee(previous: Pick<Fees, 'maxFeePerGas'>): bigint {
  return 2n * previous.maxFeePerGas + TAG_ROOM_WEI
}
