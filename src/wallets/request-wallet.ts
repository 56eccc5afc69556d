/** Accepts the request for a new wallet. A signer makes its key later; what cannot be served now is refused and leaves no trace. */
import { Conflict, Unavailable } from '../core/errors.ts'
import type { NewId } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import { change } from '../event-log/aggregate.ts'
import { appendOnce, type Opened } from '../event-log/append-once.ts'
import { UniqueRuleBroken } from '../event-log/commit.ts'
import type { FindReplay } from '../event-log/find-replay.ts'
import type { EventLog } from '../event-log/log.ts'
import type { KeyedType } from './events.ts'
import { walletAggregate } from './projection.ts'

export type WalletRequest = {
  readonly type: KeyedType
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly label: string
  /** The caller's own name for the wallet, unique in its tenant for ever. */
  readonly externalId: string | null
}

export type RequestWalletPorts = {
  readonly log: EventLog
  readonly findReplay: FindReplay
  readonly newId: NewId
  /** Whether a process that makes keys of this type lives. */
  readonly hasSigner: (type: KeyedType) => Promise<boolean>
}

/** @throws Unavailable `signer_unavailable`; Conflict `external_id_taken`; IdempotencyKeyReused */
export type RequestWallet = (request: WalletRequest, context: { readonly metadata: Metadata }) => Promise<Opened>

export function createRequestWallet({ log, findReplay, newId, hasSigner }: RequestWalletPorts): RequestWallet {
  return async (wanted, { metadata }) => {
    if (!(await hasSigner(wanted.type))) {
      const before = await findReplay(metadata)
      if (before === null) throw noSigner(wanted.type)
      return { id: before, replayed: true }
    }
    const walletId = newId('wallet')
    const now = log.now()
    const unknown = { id: walletId, state: walletAggregate.initialState, version: 0, hash: '' }
    const command = { type: 'RequestWallet' as const, request: { ...wanted, requestedAt: now } }
    const requested = change(walletAggregate, unknown, command, { metadata, now })
    const changes = requested === null ? [] : [requested]
    return appendOnce(log, { changes }, { resourceId: walletId, metadata }).catch((error) => {
      throw explain(error)
    })
  }
}

function noSigner(type: KeyedType): Unavailable {
  return new Unavailable(
    'signer_unavailable',
    type === 'hd'
      ? 'No signer is running, so no key can be made: try again later, or ask your operator to start a signer.'
      : 'No mpc signer is running here: create an hd wallet instead, or ask your operator to start the mpc parties.',
  )
}

function explain(error: unknown): unknown {
  if (error instanceof UniqueRuleBroken && error.constraint === 'wallets_external_id_once') {
    return new Conflict('external_id_taken', 'Another wallet has this external_id: it names one wallet for ever.')
  }
  return error
}
