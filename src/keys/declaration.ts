/** The declaration of keys: secrets that the database stores sealed. */
import type { Declaration } from '../core/declaration.ts'

export const keys = {
  name: 'keys',
  tables: {
    sealed_keys: {
      beside: 'sealed secrets; they are moved with the keystore',
      grants: { signer: 'SELECT, INSERT, UPDATE' },
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly keys: typeof keys
  }
}
