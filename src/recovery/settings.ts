/** The setting of exports: who may receive keys. */
import { declareSettings } from '../config/declare-settings.ts'
import { list } from '../config/schema-kinds.ts'

export const exportSettings = {
  exportRecipients: declareSettings({
    group: 'keys',
    settings: {
      EXPORT_RECIPIENTS: list(
        '^age1[02-9ac-hj-np-z]{58}$',
        'must be a comma-separated list of age X25519 recipients, as age-keygen prints them',
        {
          description:
            'Recipients that wallet keys can be exported to. If it is not set, exports are off, except in the sandbox, which accepts any recipient. Set it for the API and the signers.',
        },
      ),
    },
    // A writer of requests must not choose who receives the key: outside the sandbox, unset means no recipient.
    read: ({ EXPORT_RECIPIENTS }, { sandbox }): readonly string[] | null => EXPORT_RECIPIENTS ?? (sandbox ? null : []),
  }),
}

declare module '../config.ts' {
  interface CapabilityConfig {
    /** Age recipients that keys may be exported to. Empty: none. Null: any, only in the sandbox. */
    readonly exportRecipients: readonly string[] | null
  }
}
