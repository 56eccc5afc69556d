/** The declaration of the feed. It has no state of its own: readers keep their place. */
import type { Declaration } from '../core/declaration.ts'

export const feed = {
  name: 'feed',
  scopes: ['events:read'],
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly feed: typeof feed
  }
}
