/** What contract calls need of other parts. */
import type { CodeLookup } from '../chain/code.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import type { Asset } from '../core/assets.ts'
import type { Accept } from '../event-log/accept.ts'
import type { PreparePorts, Sender } from '../transactions/prepare-transaction.ts'
import type { RoomPorts } from '../transactions/spends.ts'

/** A token of ours that an open transfer of the wallet moves. */
export type TokenInTransfer = {
  readonly contract: string
  readonly standard: 'ERC721' | 'ERC1155'
  readonly tokenId: bigint
  readonly transferId: string
}

export type CallPorts = PreparePorts &
  RoomPorts & {
    readonly accept: Accept
    /** For contracts of tenants and strangers. */
    readonly nodeOf: (chainId: number) => { readonly client: RpcReader; readonly code: CodeLookup }
    /** The tokens that the tenant may name on the chain of the wallet, without the native currency. */
    readonly tokensOf: (tenantId: string, sender: Sender) => Promise<readonly Asset[]>
    /** Whether only the service itself makes this call: such as a mint of a collection. */
    readonly isManaged: (chainId: number, call: { readonly to: string; readonly data: string }) => Promise<boolean>
    readonly tokensInTransfer: (sender: Sender) => Promise<readonly TokenInTransfer[]>
  }
