/**
 * The secret of an API key: 256 random bits, so a fast hash is sufficient: it cannot be guessed, and a slow hash would
 * only make every request expensive.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Environment } from '../core/networks.ts'

const SECRET_BYTES = 32
/** The prefix identifies a leaked key to people and secret scanners; the environment separates the two kinds. */
const TOKEN = /^bsk_(mainnet|testnet)_[0-9a-f]{64}$/

/** A new token: `bsk_<environment>_<64 hex digits>`. It is shown once and not stored. */
export function createToken(environment: Environment): string {
  return `bsk_${environment}_${randomBytes(SECRET_BYTES).toString('hex')}`
}

/** Whether a text has the form of a token: other texts are refused without a database query. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/**
 * SHA-256 of the token, hex. Tokens are looked up by digest and never compared: the timing of a lookup reveals nothing,
 * since nobody can choose a token by its digest.
 */
export function digestOf(token: string): string {
  return hash('sha256', token, 'hex')
}
