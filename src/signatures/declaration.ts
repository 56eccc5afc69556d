/** The declaration of signatures: signed messages and typed data. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, MPC_LIMITS, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { SignatureEvent } from './events.ts'

export const signatures = {
  name: 'signatures',
  ids: { signature: 'sig' },
  scopes: ['signatures:read', 'signatures:write'],
  tables: { signatures: { follows: 'stream', grants: readBy([...READERS, 'dispatcher']) } },
  streams: {
    signature: {
      rows: {
        signatures: {
          of: '{signature_id}',
          changes: {
            MessageSignatureRequested: WHOLE_ROW,
            TypedDataSignatureRequested: WHOLE_ROW,
            SignatureMade: ['signature', 'signed_at'],
          },
        },
      },
      readScope: 'signatures:read',
      events: {
        MessageSignatureRequested: ['api'],
        TypedDataSignatureRequested: ['api'],
        SignatureMade: ['signer'],
      } satisfies EventWriters<SignatureEvent>,
    },
  },
  // A message or typed data waits for its signature.
  queues: { signature: { limits: QUICK_LIMITS, mpcLimits: MPC_LIMITS } },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly signatures: typeof signatures
  }
}
