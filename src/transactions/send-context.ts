/**
 * What requests for transactions need of the API process, beside what every process has: mostly what other capabilities
 * answer. `compose/api-context.ts` makes it once. Types alone.
 */
import type { FeeQuote } from '../chain/fees.ts'
import type { GasRules } from '../chain/forks.ts'
import type { Context } from '../context.ts'
import type { Asset } from '../core/assets.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { JudgedParts } from '../core/policy-limit.ts'
import type { NewId, Opening } from '../core/registry.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accept } from '../event-log/accept.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Intent } from './intent.ts'
import type { LimitContext, RoomContext } from './limits.ts'
import type { TransactionReads } from './read-transactions.ts'
import type { TransferGas } from './transfer-gas.ts'

/** The fields of a wallet that sending uses. */
export type Sender = {
  readonly walletId: string
  readonly type: 'mpc' | 'hd' | 'watch'
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly address: string
}

/** What the request of any transaction needs. */
export type PrepareContext = LimitContext & {
  readonly log: Pick<EventLog, 'now'>
  readonly newId: NewId
  /** @throws NotFound when the owner has no such wallet, Conflict when it has no address yet */
  readonly findSender: (owner: Owner, walletId: string) => Promise<Sender>
  /** The cached fee quote of a chain. @throws Unavailable when no node has answered recently, or the network is not followed */
  readonly quoteOf: (chainId: number) => Promise<FeeQuote>
  /** What calls cost on a chain. */
  readonly gasRules: (chainId: number) => Promise<GasRules>
  /** Estimated time until a transaction is settled on a chain, in milliseconds; returned to the caller. */
  readonly completionMs: (chainId: number) => number
  /** What the policy of its tenant says, for the opening event. @throws PolicyRefused */
  readonly judgeTransaction: (
    opening: Opening,
    intent: Intent,
    asking: Pick<Metadata, 'actor'> & { readonly accepting?: Metadata },
  ) => Promise<JudgedParts>
  /** Whether a policy is in force that refuses. */
  readonly isJudged: (owner: Owner) => Promise<boolean>
}

/** What the routes of transactions need. */
export type SendContext = Context &
  PrepareContext &
  RoomContext & {
    /** Accepts every client request that creates something. */
    readonly accept: Accept
    readonly transactions: TransactionReads
    /**
     * @throws ValidationFailed when the chain has no such asset; Conflict `token_unreadable` while its balance cannot be
     *   read
     */
    readonly resolveAsset: (asset: string, sender: Sender, tenantId: string, field?: string) => Promise<Asset>
    /** Each chain remembers on its own what its tokens need. */
    readonly transferGas: (chainId: number, ...transfer: Parameters<TransferGas>) => ReturnType<TransferGas>
    /** Base units that the wallet may spend: its balance minus the holds of pending transactions. */
    readonly availableOf: (walletId: string, assetId: string) => Promise<bigint>
    /** The value of an amount of the native currency in US dollars, or `null`. */
    readonly usdOf: (chain: Pick<Intent, 'network' | 'chainId'>, wei: bigint) => Promise<string | null>
  }

declare module '../api-context.ts' {
  interface ApiParts {
    readonly transactions: SendContext
  }
}
