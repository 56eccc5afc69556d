/** The declaration of recovery: exports of keys. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { ExportEvent } from './events.ts'

export const recovery = {
  name: 'recovery',
  ids: { export: 'exp' },
  scopes: { 'recovery:export': { byNameAlone: true, isUncounted: true } },
  tables: {
    wallet_exports: { follows: 'stream', grants: readBy([...READERS, 'dispatcher']) },
    wallet_export_files: {
      beside: 'sealed keys, kept for an hour; no event contains them',
      isAppended: true,
      // The API returns the sealed key to the client. The dispatcher deletes it when it expires and cannot read it.
      grants: { api: 'SELECT', dispatcher: 'SELECT (expires_at), DELETE' },
    },
  },
  streams: {
    export: {
      rows: {
        wallet_exports: {
          of: '{export_id}',
          changes: {
            WalletExportRequested: WHOLE_ROW,
            WalletExported: ['status', 'sha256', 'exported_at', 'expires_at'],
            WalletExportRefused: ['status', 'refusal'],
          },
        },
        wallet_export_files: { of: '{export_id}', changes: { WalletExported: WHOLE_ROW } },
      },
      // No event contains the sealed key, which recovery:export protects.
      readScope: 'recovery:read',
      events: {
        WalletExportRequested: ['api'],
        WalletExported: ['signer'],
        WalletExportRefused: ['signer'],
      } satisfies EventWriters<ExportEvent>,
    },
  },
  // A wallet's key must be sealed for its owner.
  queues: { export: { limits: QUICK_LIMITS } },
  tasks: ['exports'],
  errors: {
    validation_error: {
      mpc_not_exportable: 'Use an hd wallet: keys of mpc wallets cannot be exported.',
    },
    permission_error: {
      export_not_configured: 'Ask the operator to set EXPORT_RECIPIENTS.',
      recipient_not_allowed: 'Use a recipient that EXPORT_RECIPIENTS names.',
    },
    not_found: {
      export_expired: 'Request a new export: the file was deleted after an hour.',
      export_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
  },
  counters: {
    bursar_wallet_exports_total: { help: 'Exports of wallet keys, by step.', labels: ['step'] },
  },
  tags: {
    Recovery: {
      description: 'Export keys of hd wallets, and refresh or recover the key shares of mpc wallets.',
      place: 70,
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly recovery: typeof recovery
  }
}
