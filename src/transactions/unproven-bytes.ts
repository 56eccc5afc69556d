/**
 * Whether the signed bytes that the log records of a transaction are really its own: a signature of its wallet over this
 * call, with the recorded nonce, fees and hash, and with the tag of the request. The limits of a next signature follow
 * from them, and whoever may append could record any others. Pure.
 */
import { sameHex } from '../keys/coverage.ts'
import { provenSender } from '../keys/sender-of.ts'
import { buildCall, buildCancellation, unsigned } from './build-call.ts'
import type { Attempt, KnownTransaction } from './state.ts'
import { readTag, type TagKeys, tagsOf } from './tags.ts'

/**
 * What is wrong with the recorded bytes; `null` when all are proven.
 *
 * @param keys `null` for a reader that signs nothing: it does not compare tags
 */
export function unprovenBytes(transaction: KnownTransaction, id: string, keys: TagKeys | null): string | null {
  for (const attempt of [...transaction.abandoned, ...transaction.attempts]) {
    const wrong = wrongBytes(transaction, id, attempt, keys)
    if (wrong !== null) return `its recorded bytes with nonce ${attempt.nonce} ${wrong}`
  }
  return null
}

function wrongBytes(transaction: KnownTransaction, id: string, attempt: Attempt, keys: TagKeys | null): string | null {
  const { intent } = transaction
  const { nonce, fees, purpose } = attempt
  const call = purpose === 'cancel' ? buildCancellation(intent) : buildCall(intent)
  const sender = provenSender(unsigned(intent.chainId, nonce, call, fees), attempt)
  if (!sameHex(sender, intent.from)) return 'are not a signature of the wallet for this call, nonce and fees'
  // Older versions signed without tags, and an operator may say of such bytes which request they belong to.
  if (keys === null || intent.idempotency === undefined || attempt.isClaimed) return null
  const tags = tagsOf(keys, { id, transaction }, purpose === 'cancel' ? 'cancel' : 'send')
  return tags.includes(readTag(fees)) ? null : 'do not have the tag of the request'
}
