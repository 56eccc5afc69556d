/**
 * Accepts the request to sign a message or typed data: validates all of it, then records it with its digest, in one
 * append. A refused request leaves no trace. No key is needed or available here.
 */

import type { Context } from '../context.ts'
import { Conflict, ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { type JudgedParts, policyLimitOf, type Reserving } from '../core/policy-limit.ts'
import { spendingTypeIn } from '../core/spending-types.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { decideNew } from '../event-log/aggregate.ts'
import { LimitReached, WalletGuardRefused } from '../event-log/append.ts'
import type { EventLog } from '../event-log/log.ts'
import { eip191Digest } from '../keys/eip191.ts'
import { eip712Digest } from '../keys/eip712.ts'
import { isOwnDomain } from '../keys/own-domain.ts'
import type { ManagedContracts } from '../transactions/managed-contracts.ts'
import { type FindWallet, withAddress } from '../wallets/find-wallet.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'
import { signatureAggregate } from './aggregate.ts'
import { isOfEveryChain } from './covers.ts'
import type { SignatureRequested, SignedTypedData, TypedDataSignatureRequested } from './events.ts'
import { type Encoding, readMessage } from './read-message.ts'
import { readTypedData, type SentTypedData } from './read-typed-data.ts'

export type Wanted =
  | { readonly type: 'message'; readonly text: string; readonly encoding: Encoding }
  | { readonly type: 'typed_data'; readonly sent: SentTypedData }

export type SignatureRequest = {
  readonly environment: Environment
  readonly walletId: string
  readonly wanted: Wanted
}

/** What the request of a signature needs of its process. */
export type SignatureContext = Pick<Context, 'newId'> &
  Pick<ManagedContracts, 'isManaged'> & {
    readonly log: Pick<EventLog, 'now'>
    readonly accept: Accept
    readonly findWallet: FindWallet
    readonly config: Pick<Context['config'], 'spendingTypedData' | 'sandbox'>
    readonly judge: {
      /** What the policy says, for the event. @throws PolicyRefused */
      readonly signature: (
        requested: Place & ({ readonly message: string } | { readonly typedData: SignedTypedData }),
        asking: Pick<Metadata, 'actor'> & { readonly accepting: Metadata },
      ) => Promise<JudgedParts>
      /** Whether a policy is in force that says which typed data is signed. */
      readonly rulesTypedData: (owner: Owner) => Promise<boolean>
    }
  }

/**
 * @throws NotFound, PermissionDenied, ValidationFailed (`watch_only`, and problems of the message or typed data, among them
 *   `typed_data_spends`),
 *   Conflict `managed_contract`, `wallet_not_ready` or `wallet_archived`, IdempotencyKeyReused, PolicyRefused
 */
export function requestSignature(
  ctx: SignatureContext,
  { environment, walletId, wanted }: SignatureRequest,
  metadata: Metadata,
): Promise<Accepted> {
  return ctx.accept(metadata, async (append) => {
    const { tenantId } = metadata
    const found = await ctx.findWallet({ tenantId, environment }, walletId)
    if (found.type === 'watch') {
      const rule = 'A watch wallet has no key and cannot sign: use an hd or mpc wallet.'
      throw ValidationFailed.field('wallet_id', 'watch_only', rule)
    }
    const { network, chainId, address } = withAddress(found)
    const now = ctx.log.now()
    const place = { tenantId, walletId, network, environment, chainId, address, requestedAt: now }
    const read = readWanted(wanted, place)
    requireOwner(found, read.data)
    if (read.type === 'TypedDataSignatureRequested') await requireHarmless(ctx, read.data)
    const judged = await ctx.judge.signature(read.data, { actor: metadata.actor, accepting: metadata })
    const requested = { ...read, data: { ...read.data, ...judged } } as SignatureRequested
    const command = { type: 'RequestSignature', requested } as const
    const id = ctx.newId('signature')
    const decisions = [decideNew(signatureAggregate, id, command, { metadata, now })]
    const guards = { wallet: { walletId, require: 'active' } } as const
    const explain = (refusal: unknown) => explainRefusal(refusal, { environment, walletId, ...judged })
    return append({ id, commit: { decisions, guards }, explain, made: null })
  })
}

/** @throws ValidationFailed `use_key_owner` */
function requireOwner({ openedFrom }: WalletFacts, signed: Parameters<typeof isOfEveryChain>[0]): void {
  if (openedFrom === null || !isOfEveryChain(signed)) return
  const rule = `The signature would be good on every network, and the key of the wallet belongs to ${openedFrom}: use that wallet, or set domain.chainId.`
  throw ValidationFailed.field('wallet_id', 'use_key_owner', rule)
}

function explainRefusal(refusal: unknown, requested: Reserving): unknown {
  if (refusal instanceof LimitReached) return policyLimitOf(refusal, [requested]) ?? refusal
  if (!(refusal instanceof WalletGuardRefused)) return refusal
  return new Conflict('wallet_archived', 'The wallet is archived: restore it first.')
}

/** @throws Conflict `managed_contract`; ValidationFailed `typed_data_spends` */
async function requireHarmless(
  ctx: SignatureContext,
  { typedData, chainId, tenantId, environment }: TypedDataSignatureRequested['data'],
): Promise<void> {
  const { verifyingContract } = typedData.domain
  const isForCollection =
    isOwnDomain(typedData.domain) ||
    (verifyingContract !== undefined && (await ctx.isManaged(chainId, verifyingContract)))
  if (isForCollection) {
    const rule = `The domain is that of a collection${verifyingContract === undefined ? '' : `, ${verifyingContract}`}: create, redeem and revoke vouchers with the NFT routes.`
    throw new Conflict('managed_contract', rule)
  }
  if (await refusesSpending(ctx, { tenantId, environment })) refuseSpending(typedData)
}

/** Whether typed data that lets somebody else spend is refused without being judged. */
async function refusesSpending({ config, judge }: SignatureContext, owner: Owner): Promise<boolean> {
  const { spendingTypedData, sandbox } = config
  if (spendingTypedData !== null) return spendingTypedData === 'refuse'
  // Such a signature is worth a transfer, which `signatures:write` does not allow. The sandbox has nothing to lose.
  return !sandbox && !(await judge.rulesTypedData(owner))
}

/** @throws ValidationFailed `typed_data_spends` */
function refuseSpending({ types }: SignedTypedData): void {
  const spending = spendingTypeIn(types)
  if (spending === null) return
  const field = fieldPath(['types', spending.struct])
  const rule = `${field} ${spending.reason}, and no policy is in force that says which typed data that lets others spend is signed: send a transfer or a contract call, or publish a policy with a rule about sign_typed_data.`
  throw ValidationFailed.field(field, 'typed_data_spends', rule)
}

type Place = Omit<SignatureRequested['data'], 'digest' | 'message' | 'typedData' | 'policy' | 'reservations'>

function readWanted(wanted: Wanted, place: Place): SignatureRequested {
  if (wanted.type === 'message') {
    const bytes = readMessage(wanted.text, wanted.encoding)
    const data = { ...place, message: toHex(bytes), digest: toHex(eip191Digest(bytes)) }
    return { type: 'MessageSignatureRequested', data }
  }
  const typedData = readTypedData(wanted.sent, place.chainId)
  return { type: 'TypedDataSignatureRequested', data: { ...place, typedData, digest: toHex(eip712Digest(typedData)) } }
}

function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}
