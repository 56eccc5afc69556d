/** The stream of the key of tags: which key the signatures of the log are made with. Pure. */
import type { Aggregate } from '../event-log/aggregate.ts'
import type { TagKeyAdopted } from './events.ts'

export type TagKeyState = { readonly fingerprint: string | null }
export type AdoptTagKey = { readonly type: 'Adopt'; readonly fingerprint: string; readonly now: string }

export const tagKeyAggregate: Aggregate<TagKeyState, AdoptTagKey, TagKeyAdopted> = {
  category: 'tagkey',
  initialState: { fingerprint: null },
  schemas: { TagKeyAdopted: { version: 1, upcasters: [] } },
  decide: ({ fingerprint, now }, state) =>
    state.fingerprint === fingerprint ? [] : [{ type: 'TagKeyAdopted', data: { fingerprint, adoptedAt: now } }],
  evolve: (_state, { data: { fingerprint } }) => ({ fingerprint }),
  project: () => ({ rows: [], holds: [] }),
}
