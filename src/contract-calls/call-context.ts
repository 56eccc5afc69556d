/** What contract calls need of other capabilities, beside what every transaction needs. Types alone. */
import type { Asset } from '../core/assets.ts'
import type { SendContext, Sender } from '../transactions/send-context.ts'

/** A token of ours that an open transfer of the wallet moves. */
export type TokenInTransfer = {
  readonly contract: string
  readonly standard: 'ERC721' | 'ERC1155'
  readonly tokenId: bigint
  readonly transferId: string
}

export type CallContext = SendContext & {
  /** The tokens that the tenant may name on the chain of the wallet, without the native currency. */
  readonly tokensOf: (tenantId: string, sender: Pick<Sender, 'chainId'>) => Promise<readonly Asset[]>
  /** Whether only the service itself makes this call: such as a mint of a collection. */
  readonly isManagedCall: (chainId: number, call: { readonly to: string; readonly data: string }) => Promise<boolean>
  readonly tokensInTransfer: (sender: Pick<Sender, 'chainId' | 'address'>) => Promise<readonly TokenInTransfer[]>
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly 'contract-calls': CallContext
  }
}
