/** The declaration of restores: evidence that the database went back to an earlier state. */
import type { Declaration, EventWriters } from '../core/declaration.ts'
import type { DatabaseEvent } from './events.ts'

export const restores = {
  name: 'restores',
  streams: {
    database: {
      rows: {},
      readScope: '*',
      events: { DatabaseIdentified: ['signer'], RestoreDetected: ['signer'] } satisfies EventWriters<DatabaseEvent>,
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly restores: typeof restores
  }
}
