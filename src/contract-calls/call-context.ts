/** What contract calls need of other capabilities, beside what every transaction needs. Types alone. */
import type { Asset } from '../core/assets.ts'
import type { ManagedContracts } from '../transactions/managed-contracts.ts'
import type { SendContext, Sender } from '../transactions/send-context.ts'

export type CallContext = SendContext &
  Pick<ManagedContracts, 'isManagedCall' | 'tokensInTransfer'> & {
    /** The tokens that the tenant may name on the chain of the wallet, without the native currency. */
    readonly tokensOf: (tenantId: string, sender: Pick<Sender, 'chainId'>) => Promise<readonly Asset[]>
  }

declare module '../api-context.ts' {
  interface ApiParts {
    readonly 'contract-calls': CallContext
  }
}
