/**
 * What the answers of private relays to the bytes of a swap mean. No relay decides alone: bytes that one accepted are
 * sent, whatever the others say. What none accepted is refused only by what the chain or the log confirms; the rest is
 * not proven, and the bytes are sent again until the deadline of the swap.
 */
import type { RelayAnswer } from '../chain/relays.ts'
import type { Submission } from '../chain/rpc-errors.ts'

/** `unproven`: the relays refused the bytes, and nothing confirms it. */
export type Judged = Omit<Submission, 'outcome'> & { readonly outcome: Submission['outcome'] | 'unproven' }

/** What is asked beside the relays; `null` where no node answers. */
export type RelayEvidence = {
  /** Whether the chain has used the nonce. */
  readonly isNonceUsed: () => Promise<boolean | null>
  /** Whether the wallet can pay for the bytes alone. */
  readonly canPay: () => Promise<boolean | null>
  /** Whether older bytes of the same nonce were sent. */
  readonly hasOlder: boolean
}

/** @param answers of every relay that was asked */
export async function judgeRelays(answers: readonly RelayAnswer[], evidence: RelayEvidence): Promise<Judged> {
  const accepted = answers.find(({ outcome }) => outcome === 'accepted')
  if (accepted !== undefined) return accepted
  const said = (wanted: Submission['outcome']) => answers.find(({ outcome }) => outcome === wanted)
  const [used, older, short] = [said('nonce_too_low'), said('replacement_underpriced'), said('insufficient_funds')]
  if (used !== undefined && (await evidence.isNonceUsed()) === true) return used
  if (short !== undefined && (await evidence.canPay()) === false) return short
  if (older !== undefined && evidence.hasOlder) return older
  const silent = said('unavailable')
  if (silent !== undefined || answers.length === 0) return silent ?? { outcome: 'unavailable', message: 'no relay' }
  return { outcome: 'unproven', message: answers.map(({ host, message }) => `${host}: ${message}`).join('; ') }
}
