/** The stream of the key of tags: which key the signatures of the log are made with. Pure. */
import { Conflict } from '../core/errors.ts'
import type { Aggregate } from '../event-log/aggregate.ts'
import type { TagKeyAdopted } from './events.ts'

export type TagKeyState = { readonly fingerprint: string | null }
/** The fingerprints of a signer's keys; the first one is adopted. */
export type AdoptTagKey = { readonly type: 'Adopt'; readonly fingerprints: readonly string[]; readonly now: string }

export const tagKeyAggregate: Aggregate<TagKeyState, AdoptTagKey, TagKeyAdopted> = {
  category: 'tagkey',
  initialState: { fingerprint: null },
  schemas: { TagKeyAdopted: { version: 1, upcasters: [] } },
  decide({ fingerprints, now }, state) {
    const [fingerprint = ''] = fingerprints
    if (state.fingerprint === fingerprint) return []
    // Two signers with different keys may start at the same time.
    if (state.fingerprint !== null && !fingerprints.includes(state.fingerprint))
      throw new Conflict('tag_key_wrong', wrongTagKey(fingerprints, state.fingerprint))
    return [{ type: 'TagKeyAdopted', data: { fingerprint, adoptedAt: now } }]
  },
  evolve: (_state, { data: { fingerprint } }) => ({ fingerprint }),
  project: () => ({ rows: [], holds: [] }),
}

export function wrongTagKey(given: readonly string[], recorded: string): string {
  return `TRANSACTION_TAG_KEY has the fingerprint ${given.join(', ')}, but the transactions of this log were signed with ${recorded}: set that key. To replace it, put the new key before it, separated by a comma.`
}
