/** The declaration of keys: secrets that the database stores sealed, and who may ask how keys are kept. */
import type { Declaration } from '../core/declaration.ts'

export const keys = {
  name: 'keys',
  // Of keys that parties share, and of exports.
  scopes: { 'recovery:read': { byNameAlone: true }, 'recovery:write': { byNameAlone: true, isUncounted: true } },
  tables: {
    sealed_keys: {
      beside: 'sealed secrets; they are moved with the keystore',
      grants: { signer: 'SELECT, INSERT, UPDATE' },
    },
  },
  errors: {
    validation_error: {
      encrypted_identity: 'Send an age recipient, not an encrypted identity.',
      invalid_identity: 'Send an age recipient.',
      invalid_recipient: 'Send an age X25519 recipient.',
      secret_key_given: 'Send the age recipient, and replace the identity: its secret key was sent.',
    },
    unavailable: {
      mpc_parties_unavailable: 'Try again when enough mpc parties run.',
      signer_unavailable: 'Try again when a signer runs.',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly keys: typeof keys
  }
}
