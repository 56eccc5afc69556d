/** What NFTs need of the API process, beside what every transaction needs. Types alone. */

import type { RouteContext } from '../api-context.ts'
import type { ChainClient } from '../chain/client-set.ts'
import type { Context } from '../context.ts'
import type { InTurn } from '../core/in-turn.ts'
import type { Metadata } from '../core/messages.ts'
import type { Network } from '../core/networks.ts'
import type { JudgedParts } from '../core/policy-limit.ts'
import type { Owner } from '../core/tenants.ts'
import type { EventLog } from '../event-log/log.ts'
import type { WaitUntil } from '../event-log/wait-until.ts'
import type { TransactionReads } from '../transactions/read-transactions.ts'
import type { PrepareContext } from '../transactions/send-context.ts'
import type { FindWallet } from '../wallets/find-wallet.ts'
import type { OpeningContext } from '../wallets/request-wallet.ts'
import type { CollectionReads } from './collections/read-collections.ts'
import type { Pin } from './metadata/pin.ts'
import type { Allot } from './tokens/allot.ts'
import type { VoucherTerms } from './tokens/mint-events.ts'

export type Issuer = { readonly walletId: string; readonly address: string; readonly network: Network }

/** What keeps state between requests: made once, with the routes. */
type OwnParts = {
  /** Remembers deployed collections for some seconds. */
  readonly collections: CollectionReads
  /** Keeps the mints of a collection that wait for their numbers. */
  readonly allot: Allot
  /** Keeps requests of this process for the same wallet or the same tokens one after the other. */
  readonly inTurn: InTurn
  /** By mint: resolves once its voucher is signed, or with `null` after the timeout. */
  readonly untilVoucherSigned: WaitUntil<unknown>
  /** Null without an IPFS node. */
  readonly pin: Pin | null
}

type GivenParts = PrepareContext &
  OpeningContext &
  Pick<Context, 'clock'> & {
    readonly log: EventLog
    readonly config: Pick<Context['config'], 'metadataBaseUrl' | 'signWaitMs'>
    /** Receivers of tokens are third-party contracts: they are asked through `foreign`. */
    readonly chainOf: (chainId: number) => Pick<ChainClient, 'code' | 'foreign'>
    readonly findWallet: FindWallet
    readonly transactions: Pick<TransactionReads, 'untilMined' | 'untilSigned'>
    readonly judge: {
      /** What the policy says, for the event. @throws PolicyRefused */
      readonly voucher: (
        voucher: Owner &
          Pick<VoucherTerms, 'walletId' | 'chainId' | 'contract' | 'requestedAt'> & {
            readonly network: Network
            readonly recipient: string | null
          },
        asking: Pick<Metadata, 'actor'> & { readonly accepting: Metadata },
      ) => Promise<JudgedParts>
    }
    /** Of one transaction of a mint; by default what the rules of the chain allow. */
    readonly maxTransactionGas?: bigint
  }

export type NftContext = GivenParts & OwnParts & Pick<RouteContext, 'fundWallet'>

declare module '../api-context.ts' {
  interface ApiParts {
    readonly nft: GivenParts & Partial<OwnParts>
  }
}
