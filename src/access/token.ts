/**
 * The secret that a client sends. It carries 256 random bits, so a fast hash keeps it: there is nothing to guess, and a
 * slow one would only make every request dear.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Environment } from '../core/networks.ts'

const SECRET_BYTES = 32
/** The prefix says what a found secret is, to a person and to a secret scanner; the environment keeps the two apart. */
const TOKEN = /^bsk_(mainnet|testnet)_[0-9a-f]{64}$/

/** A new token: `bsk_<environment>_<64 hex digits>`. It is shown to whoever issues it and kept nowhere. */
export function createToken(environment: Environment): string {
  return `bsk_${environment}_${randomBytes(SECRET_BYTES).toString('hex')}`
}

/** Whether a text can be a token at all: what cannot is refused without a look into the database. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/**
 * SHA-256 of the token, hex. Tokens are found by their digest and never compared themselves: how long a search for a digest
 * takes tells nothing, because nobody can choose a token by its digest.
 */
export function digestOf(token: string): string {
  return hash('sha256', token, 'hex')
}
