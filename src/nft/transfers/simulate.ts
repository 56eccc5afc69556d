/**
 * Simulates a transfer before anything is recorded: whether the sender holds the token now, and whether the receiver
 * accepts it.
 */

import type { ChainClient } from '../../chain/client-set.ts'
import { readData, toQuantity, wordAt } from '../../chain/hex.ts'
import { type RpcReader, type RpcResult, resultValue } from '../../chain/json-rpc.ts'
import { classifyCallFailure } from '../../chain/rpc-errors.ts'
import { ValidationFailed } from '../../core/errors.ts'
import { usualMost } from '../../transactions/spend-bounds.ts'
import { COLLECTION_ABI } from '../contracts/artefact.ts'
import type { TokenStandard } from '../contracts/collection.ts'
import { encodeErc721Transfer, encodeSafeTransfer } from '../contracts/encode-calls.ts'
import { RECEIVER_GAS } from '../contracts/gas-rules.ts'
import { createCanReceive } from '../contracts/receiver.ts'
import type { TransferWarning } from './events.ts'
import type { PlannedCall } from './plan-calls.ts'
import { type Fields, fieldOf, type NftTransferRequest } from './read-fields.ts'

export type Simulated = {
  readonly warnings: readonly TransferWarning[]
  /** Receivers with code, whose gas is not known in advance. */
  readonly contracts: ReadonlySet<string>
}

export type SimulatedCollection = { readonly contract: string; readonly standard: TokenStandard }

type Refusal = { readonly name: string; readonly reason: string }
/** A receiver that would refuse the tokens of a call. */
type Unwilling = { readonly call: PlannedCall; readonly reason: string }

const LOCKED = 'TokenLocked'

/**
 * A call that waits for a mint cannot be simulated yet: only its receiver is checked, and the lane simulates it before
 * it signs, when the token exists.
 *
 * @throws ValidationFailed `not_holder`, `not_transferable`, `unsafe_recipient`; Unavailable when no node answered
 */
export async function simulate(
  /** Receivers are third-party contracts. */
  chain: Pick<ChainClient, 'code' | 'foreign'>,
  request: NftTransferRequest,
  fields: Fields,
  collection: SimulatedCollection,
  calls: readonly PlannedCall[],
): Promise<Simulated> {
  const receivers = [...new Set(calls.map(({ to }) => to))]
  const haveCode = await chain.code.haveCode(receivers)
  const contracts = new Set(receivers.filter((_receiver, n) => haveCode[n]))
  const unwilling = (
    await Promise.all([simulateReady(chain, fields, collection, calls), askReceivers(chain, fields, collection, calls)])
  ).flat()
  // ERC-1155 always calls the receiver.
  const asked = collection.standard === 'ERC1155' || request.transferType === 'SAFE'
  if (asked && unwilling.length > 0) throw unsafe(request, unwilling)
  return { warnings: warningsOf(request, unwilling), contracts }
}

async function simulateReady(
  { foreign }: Pick<ChainClient, 'foreign'>,
  fields: Fields,
  { contract, standard }: SimulatedCollection,
  calls: readonly PlannedCall[],
): Promise<Unwilling[]> {
  const ready = calls.filter(({ dependsOn }) => dependsOn === null)
  const probes = ready.flatMap((call) => probesOf(call, fields, standard))
  const answers = await foreign.batch(
    probes.map(({ call, data }) => {
      // Receivers are third-party contracts: a simulation gets no more gas than the transfer.
      const gas = toQuantity(usualMost({ reserved: { gasLimit: call.gasLimit + RECEIVER_GAS.added } }))
      return { method: 'eth_call', params: [{ from: fields.from, to: contract, data, gas }, 'latest'] }
    }),
  )
  if (standard === 'ERC1155') await requireUnits({ client: foreign, contract }, fields, ready)
  return probes.flatMap(({ call, asks }, n) => {
    const refusal = refusalOf(answers[n], standard)
    if (refusal === null) return []
    if (asks === 'sender') throw senderRefused(fields, call, refusal)
    return [{ call, reason: refusal.reason }]
  })
}

/** Checks the receivers of transfers that wait for a mint, with the contract's own call. */
async function askReceivers(
  { foreign, code }: Pick<ChainClient, 'code' | 'foreign'>,
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
  const taken = await createCanReceive(foreign, code)(deliveries)
  return deliveries
    .filter((_, n) => !taken[n])
    .map(({ call }) => ({ call, reason: 'it does not respond as the standard requires' }))
}

type Probe = { readonly call: PlannedCall; readonly asks: 'sender' | 'receiver'; readonly data: string }

/**
 * For ERC-721 the plain transfer checks the sender, the safe one the receiver too. A receiver can revert with the errors of the
 * collection: only a call that it has no part in says something about the sender. Accounts are checked like contracts, since
 * the cached information on their code may be outdated.
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
      return { name: failure.decoded?.name ?? '', reason: failure.reason ?? 'no reason was returned' }
    }
  }
  resultValue(answer, 'eth_call')
  return null
}

/** ERC-1155 has no transfer without the receiver: the balances say whether the sender has the units. */
async function requireUnits(
  { client, contract }: { readonly client: RpcReader; readonly contract: string },
  fields: Fields,
  ready: readonly PlannedCall[],
): Promise<void> {
  const places = ready.flatMap((call) => call.items.flatMap((place) => ({ call, item: fields.items[place] })))
  const answers = await client.batch(
    places.map(({ item }) => {
      const data = COLLECTION_ABI.ERC1155.encodeFunctionData('balanceOf', [fields.from, item?.tokenId ?? '0'])
      return { method: 'eth_call', params: [{ to: contract, data }, 'latest'] }
    }),
  )
  for (const [n, { call, item }] of places.entries()) {
    const units = wordAt(readData(resultValue(answers[n], 'eth_call'), 'a balance'), 0) ?? 0n
    if (item === undefined || units >= item.amount) continue
    throw senderRefused(fields, call, { name: '', reason: `it holds ${units} units of token ${item.tokenId}` })
  }
}

function senderRefused({ from, items }: Fields, call: PlannedCall, { name, reason }: Refusal): ValidationFailed {
  if (name === LOCKED) return notTransferable()
  const tokens = call.items.map((place) => items[place]?.tokenId).join(', ')
  const message = `from must be the holder of token ${tokens}: the contract refuses a transfer by ${from} (${reason}).`
  return ValidationFailed.field('from', 'not_holder', message)
}

export function notTransferable(): ValidationFailed {
  const message = 'collection_id is a collection with transferable: false, so its tokens cannot be transferred.'
  return ValidationFailed.field('collection_id', 'not_transferable', message)
}

function unsafe(request: NftTransferRequest, unwilling: readonly Unwilling[]): ValidationFailed {
  return new ValidationFailed(
    placesOf(request, unwilling).map(({ field, to, reason }) => ({
      field,
      code: 'unsafe_recipient',
      message: `${field} is ${to}, a contract whose call reverts in a simulation, so it does not accept the token now. It says: ${reason}. Use another recipient.`,
      details: { recipient: to, reason },
    })),
  )
}

function warningsOf(request: NftTransferRequest, unwilling: readonly Unwilling[]): TransferWarning[] {
  return placesOf(request, unwilling).map(({ field, to, reason }) => ({
    code: 'recipient_cannot_receive',
    field,
    message: `${field} is ${to}, a contract that does not declare support for these tokens (${reason}): it may be unable to transfer them. A SAFE transfer would be refused.`,
  }))
}

function placesOf(request: NftTransferRequest, unwilling: readonly Unwilling[]) {
  return unwilling.flatMap(({ call: { to, items }, reason }) =>
    items.map((place) => ({ field: fieldOf(request, place, 'to'), to, reason })),
  )
}
