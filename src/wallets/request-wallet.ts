/** Accepts the request for a new wallet. A signer makes its key later; what cannot be served now is refused and leaves no trace. */
import { Conflict, Unavailable } from '../core/errors.ts'
import type { NewId } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import { change } from '../event-log/aggregate.ts'
import { appendOnce, type Opened } from '../event-log/append-once.ts'
import { UniqueRuleBroken } from '../event-log/commit.ts'
import { type FindReplay, replayInsteadOf } from '../event-log/find-replay.ts'
import type { EventLog } from '../event-log/log.ts'
import type { KeyedType, MpcTerms } from './events.ts'
import { noMpcSigner, termsOf } from './mpc-terms.ts'
import { walletAggregate } from './projection.ts'
import type { HasSigner } from './signer-presence.ts'

export type WalletRequest = {
  readonly type: KeyedType
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly label: string
  /** The caller's own name for the wallet, unique in its tenant for ever. */
  readonly externalId: string | null
  /** `null` for the terms of the installation. */
  readonly mpc: MpcTerms | null
}

export type RequestWalletPorts = {
  readonly log: EventLog
  readonly findReplay: FindReplay
  readonly newId: NewId
  readonly hasSigner: HasSigner
  /** The terms of mpc wallets unless a request names others; `null` where mpc is turned off. */
  readonly mpcTerms: MpcTerms | null
}

/** @throws ValidationFailed of `mpc`; Unavailable `signer_unavailable`; Conflict `external_id_taken`; IdempotencyKeyReused */
export type RequestWallet = (request: WalletRequest, context: { readonly metadata: Metadata }) => Promise<Opened>

export function createRequestWallet(ports: RequestWalletPorts): RequestWallet {
  return async (wanted, { metadata }) => {
    const accepted = await accept(ports, wanted)
    if ('refusal' in accepted) return replayInsteadOf(accepted.refusal, ports.findReplay, metadata)
    return open(ports, { ...wanted, mpc: accepted.mpc }, metadata)
  }
}

/** What depends on the installation, and may have changed since an earlier request with the same key was accepted. */
async function accept(
  { hasSigner, mpcTerms }: RequestWalletPorts,
  { type, mpc: requested }: WalletRequest,
): Promise<{ readonly mpc: MpcTerms | null } | { readonly refusal: unknown }> {
  try {
    const mpc = termsOf(type, requested, mpcTerms)
    return (await hasSigner(mpc)) ? { mpc } : { refusal: mpc === null ? noSigner() : noMpcSigner() }
  } catch (refusal) {
    return { refusal }
  }
}

async function open({ log, newId }: RequestWalletPorts, request: WalletRequest, metadata: Metadata): Promise<Opened> {
  const walletId = newId('wallet')
  const now = log.now()
  const unknown = { id: walletId, state: walletAggregate.initialState, version: 0, hash: '' }
  const command = { type: 'RequestWallet' as const, request: { ...request, requestedAt: now } }
  const requested = change(walletAggregate, unknown, command, { metadata, now })
  const changes = requested === null ? [] : [requested]
  return appendOnce(log, { changes }, { resourceId: walletId, metadata }).catch((error) => {
    throw explain(error)
  })
}

function noSigner(): Unavailable {
  return new Unavailable(
    'signer_unavailable',
    'No signer is running, so no key can be made: try again later, or ask your operator to start a signer.',
  )
}

function explain(error: unknown): unknown {
  if (error instanceof UniqueRuleBroken && error.constraint === 'wallets_external_id_once') {
    return new Conflict('external_id_taken', 'Another wallet has this external_id: it names one wallet for ever.')
  }
  return error
}
