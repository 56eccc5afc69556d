/** The stream of the installation that lists what was set aside. It has no rows: readers of streams read it. Pure. */
import type { Aggregate } from '../../event-log/aggregate.ts'
import type { EventPlace, EventSetAside } from './events.ts'

export type SetAsideState = { readonly events: readonly EventPlace[] }

export type SetAsideCommand = { readonly type: 'SetAside' } & EventSetAside['data']

export const setAsideAggregate: Aggregate<SetAsideState, SetAsideCommand, EventSetAside> = {
  category: 'setaside',
  initialState: { events: [] },
  schemas: { EventSetAside: { version: 1, upcasters: [] } },
  decide({ type: _, ...data }, { events }) {
    const isListed = events.some(
      ({ streamId, streamVersion, hash }) =>
        streamId === data.streamId && streamVersion === data.streamVersion && hash === data.hash,
    )
    return isListed ? [] : [{ type: 'EventSetAside', data }]
  },
  evolve: ({ events }, { data: { streamId, streamVersion, hash } }) => ({
    events: [...events, { streamId, streamVersion, hash }],
  }),
  project: () => ({ rows: [], holds: [] }),
}
