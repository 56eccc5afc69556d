/** The threshold and number of parties of a wallet's key: from its request, checked against the installation. */
import { Unavailable, ValidationFailed } from '../core/errors.ts'
import type { KeyedType, MpcTerms } from './events.ts'

/** With fewer than two, one party would hold the whole key. */
export const LEAST_SIGNERS = 2

/**
 * The terms of a new wallet; `null` for a type other than mpc.
 *
 * Invariant: any two sets of signers share a party, whose journal prevents a coordinator from having each set sign one
 * transaction with a different nonce.
 *
 * @param requested from the request, `null` where omitted
 * @param installed the installed parties and the default threshold; `null` when mpc is off
 * @throws ValidationFailed naming the field; Unavailable `signer_unavailable` when mpc is off
 */
export function termsOf(type: KeyedType, requested: MpcTerms | null, installed: MpcTerms | null): MpcTerms | null {
  if (type !== 'mpc') {
    if (requested === null) return null
    throw ValidationFailed.field('mpc', 'mpc_only', `mpc is only allowed with type mpc: omit it for type ${type}.`)
  }
  if (installed === null) throw noMpcSigner()
  const { threshold, parties } = requested ?? installed
  if (!isWithin(parties, installed.parties)) {
    const rule = `mpc.parties must be a whole number from ${LEAST_SIGNERS} to ${installed.parties}, the number of parties of this installation.`
    throw ValidationFailed.field('mpc.parties', 'too_many_parties', rule)
  }
  if (!isWithin(threshold, parties)) {
    const rule = `mpc.threshold must be a whole number from ${LEAST_SIGNERS} to mpc.parties (${parties}).`
    throw ValidationFailed.field('mpc.threshold', 'threshold_too_high', rule)
  }
  if (2 * threshold <= parties) {
    const rule = `mpc.threshold must be more than half of mpc.parties (${parties}), so that any two sets of signers share a party.`
    throw ValidationFailed.field('mpc.threshold', 'threshold_too_low', rule)
  }
  return { threshold, parties }
}

function isWithin(count: number, most: number): boolean {
  return Number.isInteger(count) && count >= LEAST_SIGNERS && count <= most
}

export function noMpcSigner(): Unavailable {
  return new Unavailable(
    'signer_unavailable',
    'No mpc signer is running: create an hd wallet instead, or ask your operator to start the mpc parties.',
  )
}
