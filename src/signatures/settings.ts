/** The setting of signatures: what happens to typed data that lets others spend. */
import { Type } from '@sinclair/typebox'
import { declareSettings } from '../config/declare-settings.ts'
import { word } from '../config/schema-kinds.ts'

export const signingSettings = {
  spendingTypedData: declareSettings({
    group: 'keys',
    settings: {
      SIGN_SPENDING_TYPED_DATA: Type.Optional(
        word(['refuse', 'allow'], {
          description:
            'API only; goes away, use a policy. What happens to typed data that lets others spend, such as permits, orders and signed transfers: `refuse`: 422 `typed_data_spends`, whatever a policy says; `allow`: it is signed unless a policy denies it. If it is not set, it is refused while no policy is active that has rules about it, except in the sandbox.',
        }),
      ),
    },
    read: ({ SIGN_SPENDING_TYPED_DATA }) => SIGN_SPENDING_TYPED_DATA ?? null,
  }),
}

declare module '../config.ts' {
  interface CapabilityConfig {
    /** Whether typed data that lets somebody else spend is signed, as the operator says; `null`: as policies say, see `signatures`. */
    readonly spendingTypedData: 'refuse' | 'allow' | null
  }
}
