/**
 * Accepts the request for a new wallet. A signer creates its key later; a request that cannot be served now is refused
 * and leaves no trace.
 */
import type { Context } from '../context.ts'
import { Conflict, Unavailable } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { ChainKey, Environment, Network } from '../core/networks.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { decideNew } from '../event-log/aggregate.ts'
import { UniqueRuleBroken } from '../event-log/append.ts'
import type { EventLog } from '../event-log/log.ts'
import { walletAggregate } from './aggregate.ts'
import type { KeyedType, MpcTerms } from './events.ts'
import { noMpcSigner, termsOf } from './mpc-terms.ts'
import { hasSigner } from './signer-presence.ts'
import type { WaitForBatch, WaitForWallet } from './wait-for-wallet.ts'

export type WalletRequest = {
  readonly type: KeyedType
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly label: string
  /** None by default. */
  readonly tags?: readonly string[]
  /** The caller's own id of the wallet, permanently unique in its tenant. */
  readonly externalId: string | null
  /** `null` for the default terms of the installation. */
  readonly mpc: MpcTerms | null
}

/** What the request of a wallet needs of its process. */
export type RequestWalletContext = Pick<Context, 'newId' | 'pool'> & {
  readonly log: Pick<EventLog, 'now'>
  readonly accept: Accept
  /** `mpc`: the default terms of mpc wallets; `null` when mpc is off, missing when no capability has such wallets. */
  readonly config: { readonly mpc?: MpcTerms | null }
}

/** What creating and watching wallets needs of the API process. */
export type OpeningContext = RequestWalletContext & {
  readonly waitForWallet: WaitForWallet
  readonly waitForBatch: WaitForBatch
  /** @throws ValidationFailed `network_not_configured`, with the name of the setting */
  readonly chains: { readonly get: (key: ChainKey) => { readonly settings: { readonly chainId: number } } }
}

/**
 * @throws ValidationFailed for `mpc`; Unavailable `signer_unavailable`; Conflict `external_id_taken`;
 *   IdempotencyKeyReused
 */
export function requestWallet(
  ctx: RequestWalletContext,
  { tags = [], ...wanted }: WalletRequest,
  { metadata }: { readonly metadata: Metadata },
): Promise<Accepted> {
  return ctx.accept(metadata, async (append) => {
    const mpc = await requireSigner(ctx, wanted)
    const walletId = ctx.newId('wallet')
    const now = ctx.log.now()
    const command = { type: 'RequestWallet' as const, request: { ...wanted, mpc, requestedAt: now }, tags }
    const decisions = [decideNew(walletAggregate, walletId, command, { metadata, now })]
    return append({ id: walletId, commit: { decisions }, explain, made: null })
  })
}

/** The terms of the wallet's key. @throws ValidationFailed for `mpc`; Unavailable `signer_unavailable` */
export async function requireSigner(
  { pool, config }: RequestWalletContext,
  { type, mpc: requested }: Pick<WalletRequest, 'type' | 'mpc'>,
): Promise<MpcTerms | null> {
  const mpc = termsOf(type, requested, config.mpc ?? null)
  if (await hasSigner(pool, mpc)) return mpc
  throw mpc === null ? noSigner() : noMpcSigner()
}

function noSigner(): Unavailable {
  return new Unavailable(
    'signer_unavailable',
    'No signer is running, so no key can be created: try again later, or ask your operator to start a signer.',
  )
}

function explain(error: unknown): unknown {
  if (error instanceof UniqueRuleBroken && error.constraint === 'wallets_external_id_once') {
    return new Conflict(
      'external_id_taken',
      'Another wallet has this external_id, which stays with that wallet permanently: use another external_id.',
    )
  }
  return error
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly wallets: OpeningContext
  }
}
