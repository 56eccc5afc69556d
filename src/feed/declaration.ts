/** The declaration of the feed. It has no state of its own: readers keep their place. */
import type { Declaration } from '../core/declaration.ts'

export const feed = {
  name: 'feed',
  scopes: ['events:read'],
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
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly feed: typeof feed
  }
}
