/** Among how many parties the key of a wallet is divided: what its request says, checked against the parties that there are. */
import { Unavailable, ValidationFailed } from '../core/errors.ts'
import type { KeyedType, MpcTerms } from './events.ts'

/** Fewer than two would be one that holds the whole key. */
export const LEAST_SIGNERS = 2

/**
 * The terms of a new wallet; `null` for one that is not of type mpc.
 *
 * Invariant: any two sets of signers share a party, whose journal keeps a coordinator from having one transaction signed by
 * each set under a nonce of its own.
 *
 * @param requested as the request has them, `null` where it leaves them out
 * @param installed the parties that there are, and the threshold unless a request names one; `null` where mpc is turned off
 * @throws ValidationFailed naming the field; Unavailable `signer_unavailable` where mpc is turned off
 */
export function termsOf(type: KeyedType, requested: MpcTerms | null, installed: MpcTerms | null): MpcTerms | null {
  if (type !== 'mpc') {
    if (requested === null) return null
    throw ValidationFailed.field('mpc', 'mpc_only', `mpc is for type mpc: leave it out of type ${type}.`)
  }
  if (installed === null) throw noMpcSigner()
  const { threshold, parties } = requested ?? installed
  if (!isWithin(parties, installed.parties)) {
    const rule = `mpc.parties must be a whole number from ${LEAST_SIGNERS} to ${installed.parties}: there are so many parties here.`
    throw ValidationFailed.field('mpc.parties', 'too_many_parties', rule)
  }
  if (!isWithin(threshold, parties)) {
    const rule = `mpc.threshold must be a whole number from ${LEAST_SIGNERS} to mpc.parties, which is ${parties}.`
    throw ValidationFailed.field('mpc.threshold', 'threshold_too_high', rule)
  }
  if (2 * threshold <= parties) {
    const rule = `mpc.threshold must be more than half of mpc.parties, which is ${parties}: two sets of signers must share a party.`
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
    'No mpc signer is running here: create an hd wallet instead, or ask your operator to start the mpc parties.',
  )
}
