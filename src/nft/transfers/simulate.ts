/**
 * Asks the contract what it would say to a transfer, before anything is recorded: whether the sender holds the token on the
 * chain of this moment, and whether the receiver takes it.
 */
import type { CodeLookup } from '../../chain/code.ts'
import { toQuantity } from '../../chain/hex.ts'
import { type RpcReader, type RpcResult, resultValue } from '../../chain/json-rpc.ts'
import { encodeErc721Transfer, encodeSafeTransfer } from '../../chain/nft.ts'
import { COLLECTION_ABI } from '../../chain/nft-artefact.ts'
import type { TokenStandard } from '../../chain/nft-collection.ts'
import { createCanReceive } from '../../chain/nft-receiver.ts'
import { classifyCallFailure } from '../../chain/rpc-errors.ts'
import { ValidationFailed } from '../../core/errors.ts'
import { mostGas } from '../../transactions/spend-bounds.ts'
import type { TransferWarning } from './events.ts'
import type { PlannedCall } from './plan-calls.ts'
import { type Fields, fieldOf, type NftTransferRequest } from './read-fields.ts'

export type Simulated = {
  readonly warnings: readonly TransferWarning[]
  /** Receivers with code of their own, which takes gas that nobody knows beforehand. */
  readonly contracts: ReadonlySet<string>
}

/** Held back for a receiver's own code; the lane's estimate counts where it is more. */
export const RECEIVER_GAS = 100_000n

export type SimulationPorts = { readonly client: RpcReader; readonly code: CodeLookup }

export type SimulatedCollection = { readonly contract: string; readonly standard: TokenStandard }

type Refusal = { readonly name: string; readonly reason: string }
/** A receiver that would not take what a call sends it. */
type Unwilling = { readonly call: PlannedCall; readonly reason: string }

/** Errors of the contract itself; anything else is the receiver's doing. */
const OF_SENDER = ['ERC721IncorrectOwner', 'ERC721NonexistentToken', 'ERC1155InsufficientBalance']
const LOCKED = 'TokenLocked'

/**
 * A call that waits for a mint cannot be simulated yet: of it the receiver alone is asked, and the lane does the rest when the
 * token is there, before it signs.
 *
 * @throws ValidationFailed `not_holder`, `not_transferable`, `unsafe_recipient`; Unavailable when no node answered
 */
export async function simulate(
  ports: SimulationPorts,
  request: NftTransferRequest,
  fields: Fields,
  collection: SimulatedCollection,
  calls: readonly PlannedCall[],
): Promise<Simulated> {
  const receivers = [...new Set(calls.map(({ to }) => to))]
  const haveCode = await ports.code.haveCode(receivers)
  const contracts = new Set(receivers.filter((_receiver, n) => haveCode[n]))
  const unwilling = (
    await Promise.all([simulateReady(ports, fields, collection, calls), askReceivers(ports, fields, collection, calls)])
  ).flat()
  // ERC-1155 knows no transfer that leaves the receiver unasked.
  const asked = collection.standard === 'ERC1155' || request.transferType === 'SAFE'
  if (asked && unwilling.length > 0) throw unsafe(request, unwilling)
  return { warnings: warningsOf(request, unwilling), contracts }
}

async function simulateReady(
  { client }: SimulationPorts,
  fields: Fields,
  { contract, standard }: SimulatedCollection,
  calls: readonly PlannedCall[],
): Promise<Unwilling[]> {
  const ready = calls.filter(({ dependsOn }) => dependsOn === null)
  const probes = ready.flatMap((call) => probesOf(call, fields, standard))
  const answers = await client.batch(
    probes.map(({ call, data }) => {
      // Receivers are contracts of strangers: a simulation gets no more gas than the transfer.
      const gas = toQuantity(mostGas({ reserved: { gasLimit: (call.gasLimit + RECEIVER_GAS).toString() } }))
      return { method: 'eth_call', params: [{ from: fields.from, to: contract, data, gas }, 'latest'] }
    }),
  )
  return probes.flatMap(({ call, asks }, n) => {
    const refusal = refusalOf(answers[n], standard)
    if (refusal === null) return []
    if (asks === 'sender' || isOfSender(refusal)) throw senderRefused(fields, call, refusal)
    return [{ call, reason: refusal.reason }]
  })
}

/** As the contract will ask the receivers of what waits for a mint. */
async function askReceivers(
  { client, code }: SimulationPorts,
  { from, items }: Fields,
  { contract, standard }: SimulatedCollection,
  calls: readonly PlannedCall[],
): Promise<Unwilling[]> {
  const deliveries = calls.flatMap((call) => {
    const [place = -1] = call.dependsOn === null ? [] : call.items
    const item = items[place]
    if (item === undefined) return []
    const token = { to: item.to, tokenId: BigInt(item.tokenId), amount: item.amount }
    return [{ call, standard, contract, operator: from, from, ...token }]
  })
  const taken = await createCanReceive(client, code)(deliveries)
  return deliveries
    .filter((_, n) => !taken[n])
    .map(({ call }) => ({ call, reason: 'it does not answer as the standard asks' }))
}

type Probe = { readonly call: PlannedCall; readonly asks: 'sender' | 'receiver'; readonly data: string }

/**
 * In ERC-721 the plain transfer tells of the sender, the safe one of the receiver as well. An account is asked like a
 * contract: what is remembered of its code may be older than its code.
 */
function probesOf(call: PlannedCall, { from, items }: Fields, standard: TokenStandard): Probe[] {
  if (standard === 'ERC1155') return [{ call, asks: 'receiver', data: call.data }]
  return call.items.flatMap((place) => {
    const item = items[place]
    if (item === undefined) return []
    const transfer = { from, to: item.to, tokenId: BigInt(item.tokenId), amount: 1n }
    return [
      { call, asks: 'sender', data: encodeErc721Transfer(transfer) },
      { call, asks: 'receiver', data: encodeSafeTransfer(standard, transfer) },
    ]
  })
}

function refusalOf(answer: RpcResult | undefined, standard: TokenStandard): Refusal | null {
  if (answer?.ok === false) {
    const failure = classifyCallFailure(answer.error, [COLLECTION_ABI[standard]])
    if (failure.type === 'reverted') {
      return { name: failure.decoded?.name ?? '', reason: failure.reason ?? 'it gives no reason' }
    }
  }
  resultValue(answer, 'eth_call')
  return null
}

function isOfSender({ name }: Refusal): boolean {
  return name === LOCKED || OF_SENDER.includes(name)
}

function senderRefused({ from, items }: Fields, call: PlannedCall, { name, reason }: Refusal): ValidationFailed {
  if (name === LOCKED) return notTransferable()
  const tokens = call.items.map((place) => items[place]?.tokenId).join(', ')
  const message = `from must be who holds token ${tokens}: the contract refuses a transfer by ${from} (${reason}).`
  return ValidationFailed.field('from', 'not_holder', message)
}

export function notTransferable(): ValidationFailed {
  const message =
    'collection_id names a collection whose tokens stay with their first holders: they cannot be transferred.'
  return ValidationFailed.field('collection_id', 'not_transferable', message)
}

function unsafe(request: NftTransferRequest, unwilling: readonly Unwilling[]): ValidationFailed {
  return new ValidationFailed(
    placesOf(request, unwilling).map(({ field, to, reason }) => ({
      field,
      code: 'unsafe_recipient',
      message: `${field} is ${to}, a contract that does not take the token (${reason}): name another receiver.`,
      details: { recipient: to, reason },
    })),
  )
}

function warningsOf(request: NftTransferRequest, unwilling: readonly Unwilling[]): TransferWarning[] {
  return placesOf(request, unwilling).map(({ field, to, reason }) => ({
    code: 'recipient_cannot_receive',
    field,
    message: `${field} is ${to}, a contract that does not say that it can handle such tokens (${reason}): it may never be able to send them on. SAFE refuses it.`,
  }))
}

function placesOf(request: NftTransferRequest, unwilling: readonly Unwilling[]) {
  return unwilling.flatMap(({ call: { to, items }, reason }) =>
    items.map((place) => ({ field: fieldOf(request, place, 'to'), to, reason })),
  )
}
