/**
 * What the intent of each kind of transaction may be. Whoever signs checks it: the database lets a process append the
 * events of its role with any content, so the type of an event alone says nothing about what it does. Pure.
 *
 * Invariant: a kind without a rule is not signed.
 */
import { GAS_BOUNDS } from '../chain/forks.ts'
import type { SubjectType } from '../core/registry.ts'
import { sameHex } from '../keys/coverage.ts'
import type { transactions } from './declaration.ts'
import type { Intent } from './intent.ts'
import type { KindsOf } from './kind-rules.ts'
import { partNames } from './kinds.ts'

export const transactionKinds: KindsOf<typeof transactions> = {
  TransferRequested: {
    rule(intent) {
      if (intent.data !== null) return 'a transfer must not have call data of its own'
      if (intent.amount <= 0n) return 'a transfer must move an amount'
      return foreignParts(intent, []) ?? foreignSubject(intent, 'transfer_batch', { isRequired: false })
    },
  },
  NonceFillRequested: {
    rule(intent) {
      if (!sendsNothingToItself(intent) || intent.data !== null)
        return 'a gap filler must be a transfer of 0 to the wallet itself, without call data'
      if (intent.subject !== null || intent.dependsOn !== null) return 'a gap filler must stand alone'
      return (
        foreignParts(intent, []) ??
        (intent.reserved.gasLimit <= GAS_BOUNDS.empty
          ? null
          : `a gap filler must reserve at most ${GAS_BOUNDS.empty} gas`)
      )
    },
  },
}

/** A call of a contract that takes nothing from the wallet besides gas, for a resource of this type. */
export function callWithoutValue(intent: Intent, subject: SubjectType): string | null {
  const { asset, amount, data, to, from } = intent
  if (data === null || data.length < 10) return 'it must call a function'
  if (asset.contract !== null || amount !== 0n) return 'it must not send an amount'
  if (sameHex(to, from)) return 'it must call a contract, not the wallet'
  return foreignParts(intent, []) ?? foreignSubject(intent, subject)
}

/** A transaction that moves nothing, whatever its call data. */
export function sendsNothingToItself({ from, to, asset, amount }: Intent): boolean {
  return sameHex(to, from) && asset.contract === null && amount === 0n
}

/** Parts that only other kinds have. */
export function foreignParts(intent: Intent, allowed: readonly (keyof Intent)[]): string | null {
  const part = ['outflows', ...partNames()].find(
    (name) => intent[name as keyof Intent] !== undefined && !(allowed as readonly string[]).includes(name),
  )
  return part === undefined ? null : `its kind has no ${part}`
}

export function foreignSubject(
  { subject }: Intent,
  type: SubjectType,
  { isRequired }: { readonly isRequired: boolean } = { isRequired: true },
): string | null {
  if (subject === null) return isRequired ? `it must belong to a ${type}` : null
  return subject.type === type ? null : `it must belong to a ${type}, not to a ${subject.type}`
}
