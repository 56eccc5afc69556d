/** The declaration of the feed. It has no state of its own: readers keep their place. */
import type { Declaration } from '../core/declaration.ts'

export const feed = {
  name: 'feed',
  scopes: { 'events:read': {} },
  errors: {
    validation_error: {
      unknown_event: 'Use the id of one of your events.',
      unknown_event_type: 'Use a type from docs/events.md.',
    },
    rate_limit_error: {
      too_many_streams: 'Close an event stream, or read pages without `wait`.',
    },
  },
  tags: {
    Events: { description: 'Follow what happens: pages, long polls and streams of events, of any age.', place: 80 },
  },
  quotas: {
    skipped_events_per_second: {
      kind: 'rate',
      place: 120,
      // To look at one costs up to 0.2 ms of a process. Filters find their events by an index: few are looked at for nothing.
      default: 1_000,
      description:
        'Maximum number of events of the log per second and API process that are read for a tenant and do not match the filter of its reader. A burst can use ten seconds of it',
      counted: 'events per second that were read and did not match the filter',
      remedy: 'Continue with next_after of the last page later',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly feed: typeof feed
  }
}
