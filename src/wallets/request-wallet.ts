/**
 * Accepts the request for a new wallet. A signer creates its key later; a request that cannot be served now is refused
 * and leaves no trace.
 */
import { Conflict, Unavailable } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { NewId } from '../declarations.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { opened } from '../event-log/aggregate.ts'
import { UniqueRuleBroken } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'
import { walletAggregate } from './aggregate.ts'
import type { KeyedType, MpcTerms } from './events.ts'
import { noMpcSigner, termsOf } from './mpc-terms.ts'
import type { HasSigner } from './signer-presence.ts'

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

export type RequestWalletPorts = {
  readonly log: Pick<EventLog, 'now'>
  readonly accept: Accept
  readonly newId: NewId
  readonly hasSigner: HasSigner
  /** The default terms of mpc wallets; `null` when mpc is off. */
  readonly mpcTerms: MpcTerms | null
}

/**
 * @throws ValidationFailed for `mpc`; Unavailable `signer_unavailable`; Conflict `external_id_taken`;
 *   IdempotencyKeyReused
 */
export type RequestWallet = (request: WalletRequest, context: { readonly metadata: Metadata }) => Promise<Accepted>

export function createRequestWallet(ports: RequestWalletPorts): RequestWallet {
  const { log, accept, newId } = ports
  return ({ tags = [], ...wanted }, { metadata }) =>
    accept(metadata, async (append) => {
      const mpc = await requireSigner(ports, wanted)
      const walletId = newId('wallet')
      const now = log.now()
      const command = { type: 'RequestWallet' as const, request: { ...wanted, mpc, requestedAt: now }, tags }
      const changes = [opened(walletAggregate, walletId, command, { metadata, now })]
      return append({ id: walletId, commit: { changes }, explain, made: null })
    })
}

/** The terms of the wallet's key. @throws ValidationFailed for `mpc`; Unavailable `signer_unavailable` */
async function requireSigner(
  { hasSigner, mpcTerms }: RequestWalletPorts,
  { type, mpc: requested }: WalletRequest,
): Promise<MpcTerms | null> {
  const mpc = termsOf(type, requested, mpcTerms)
  if (await hasSigner(mpc)) return mpc
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
