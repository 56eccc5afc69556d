/** The read model of a signature: its row. Pure. */
import { type Aggregate, opensItself, type ProjectionContext } from '../event-log/aggregate.ts'
import { reservedSpends } from '../transactions/limits.ts'
import { readReserving } from '../transactions/read-events.ts'
import { type SignatureCommand, signatureDecider } from './decider.ts'
import type { SignatureEvent } from './events.ts'
import type { KnownSignature, SignatureState } from './state.ts'

const first = { version: 1, upcasters: [] }
const reserving = { ...first, read: readReserving }

export const signatureAggregate: Aggregate<SignatureState, SignatureCommand, SignatureEvent, 'signatures'> = {
  ...signatureDecider,
  category: 'signature',
  whenSetAside: 'hold',
  schemas: { MessageSignatureRequested: reserving, TypedDataSignatureRequested: reserving, SignatureMade: first },
  opens: opensItself<SignatureEvent>('MessageSignatureRequested', 'TypedDataSignatureRequested'),
  project: (before, after, context) => ({
    rows: after.type === 'unknown' ? [] : [{ table: 'signatures', row: toRow(after, context) }],
    holds: [],
    spends: before.type !== 'unknown' || after.type === 'unknown' ? [] : reservedSpends(after.wish.reservations),
  }),
}

function toRow({ type, wish, signature, signedAt }: KnownSignature, { id, version }: ProjectionContext) {
  return {
    signature_id: id,
    tenant_id: wish.tenantId,
    wallet_id: wish.walletId,
    network: wish.network,
    environment: wish.environment,
    chain_id: wish.chainId,
    type,
    address: wish.address,
    digest: wish.digest,
    signature,
    signed_at: signedAt,
    created_at: wish.requestedAt,
    version,
  }
}
