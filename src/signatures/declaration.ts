/** The declaration of signatures: signed messages and typed data. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, MPC_LIMITS, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { SignatureEvent } from './events.ts'

export const signatures = {
  name: 'signatures',
  ids: { signature: 'sig' },
  scopes: { 'signatures:read': { byNameAlone: true }, 'signatures:write': { byNameAlone: true, isUncounted: true } },
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
  signs: ['signature'],
  // A message or typed data waits for its signature.
  queues: { signature: { limits: QUICK_LIMITS, mpcLimits: MPC_LIMITS } },
  errors: {
    validation_error: {
      chain_id_mismatch: 'Use the chain id of the wallet in `domain.chainId`.',
      domain_mismatch: 'Declare `EIP712Domain` with the fields of `domain`, or omit it.',
      invalid_field_name: 'Use a valid EIP-712 field name.',
      invalid_type: 'Use an EIP-712 type, or declare it in `types`.',
      invalid_type_name: 'Use a valid EIP-712 type name.',
      message_too_large: 'Send a shorter message.',
      recursive_type: 'Remove the cycle from `types`.',
      typed_data_spends: 'Send a transfer or a contract call, or ask the operator to allow such signatures.',
      typed_data_too_large: 'Send smaller typed data.',
      types_too_complex: 'Use fewer or simpler types.',
      unused_type: 'Remove the type that no other type refers to.',
    },
    not_found: {
      signature_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
  },
  tags: {
    Signing: { description: 'Sign messages and typed data with the key of a wallet.', place: 40 },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly signatures: typeof signatures
  }
}
