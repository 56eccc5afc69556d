/** Journals of parties in a test, what is claimed of them, and what they answer. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Claim, openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { listeningLog, temporaryDirectory } from './mpc-processes.ts'

export const alice = `0x${'aA'.repeat(20)}`

/** Of a nonce of alice on chain 1. */
export const claim = (transactionId: string, nonce: number, more: Partial<Claim> = {}): Claim => ({
  transactionId,
  chainId: 1,
  address: alice,
  nonce,
  ...more,
})

export const granted = { granted: true }
export const taken = (transactionId: string) => ({ granted: false, reason: 'nonce_used', transactionId })

/** @param directory of an earlier journal, for one that continues it; a new one by default */
export async function openJournal(t: Test, directory?: string) {
  const place = directory ?? (await temporaryDirectory(t))
  const { lines, log } = listeningLog()
  const journal = await openSigningJournal({ directory: place, requireOwner: async () => undefined, log })
  return { journal, lines, directory: place, path: join(place, 'signing.journal') }
}
