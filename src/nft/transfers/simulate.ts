/**
 * Asks the contract what it would say to a transfer, before anything is recorded: whether the sender holds the token on the
 * chain of this moment, and whether the receiver takes it.
 */
import type { CodeLookup } from '../../chain/code.ts'
import { type RpcReader, type RpcResult, resultValue } from '../../chain/json-rpc.ts'
import { encodeErc721Transfer, encodeSafeTransfer } from '../../chain/nft.ts'
import { COLLECTION_ABI } from '../../chain/nft-artefact.ts'
import type { TokenStandard } from '../../chain/nft-collection.ts'
import { classifyCallFailure } from '../../chain/rpc-errors.ts'
import { ValidationFailed } from '../../core/errors.ts'
import type { TransferWarning } from './events.ts'
import type { PlannedCall } from './plan-calls.ts'
import { type Fields, fieldOf, type NftTransferRequest } from './read-fields.ts'

export type Simulated = {
  readonly warnings: readonly TransferWarning[]
  /** Receivers with code of their own, which takes gas that nobody knows beforehand. */
  readonly contracts: ReadonlySet<string>
}

export type SimulationPorts = { readonly client: RpcReader; readonly code: CodeLookup }

type Refusal = { readonly name: string; readonly reason: string }

/** Errors of the contract itself; anything else is the receiver's doing. */
const OF_SENDER = ['ERC721IncorrectOwner', 'ERC721NonexistentToken', 'ERC1155InsufficientBalance']
const LOCKED = 'TokenLocked'

/**
 * Calls that wait for a mint cannot be simulated yet: the lane does it when the token is there, before it signs.
 *
 * @throws ValidationFailed `not_holder`, `not_transferable`, `unsafe_recipient`; Unavailable when no node answered
 */
export async function simulate(
  { client, code }: SimulationPorts,
  request: NftTransferRequest,
  fields: Fields,
  collection: { readonly contract: string; readonly standard: TokenStandard },
  calls: readonly PlannedCall[],
): Promise<Simulated> {
  const receivers = [...new Set(calls.map(({ to }) => to))]
  const haveCode = await code.haveCode(receivers)
  const contracts = new Set(receivers.filter((_receiver, n) => haveCode[n]))
  const ready = calls.filter(({ dependsOn }) => dependsOn === null)
  // One by one in ERC-721: the plain transfer tells of the sender, the safe one of the receiver as well.
  const probes = ready.flatMap((call) => probesOf(call, fields, collection.standard, contracts.has(call.to)))
  const answers = await client.batch(
    probes.map(({ data }) => ({
      method: 'eth_call',
      params: [{ from: fields.from, to: collection.contract, data }, 'latest'],
    })),
  )
  const warnings = new Map<string, TransferWarning>()
  for (const [n, { call, asks }] of probes.entries()) {
    const refusal = refusalOf(answers[n], collection.standard)
    if (refusal === null) continue
    if (asks === 'sender' || isOfSender(refusal)) throw senderRefused(fields, call, refusal)
    if (collection.standard === 'ERC721' && request.transferType !== 'SAFE')
      warnings.set(call.to, warningOf(call, refusal))
    else throw unsafe(request, call, refusal)
  }
  return { warnings: [...warnings.values()], contracts }
}

type Probe = { readonly call: PlannedCall; readonly asks: 'sender' | 'receiver'; readonly data: string }

function probesOf(call: PlannedCall, { from, items }: Fields, standard: TokenStandard, isContract: boolean): Probe[] {
  if (standard === 'ERC1155') return [{ call, asks: isContract ? 'receiver' : 'sender', data: call.data }]
  return call.items.flatMap((place) => {
    const item = items[place]
    if (item === undefined) return []
    const transfer = { from, to: item.to, tokenId: BigInt(item.tokenId), amount: 1n }
    const plain: Probe = { call, asks: 'sender', data: encodeErc721Transfer(transfer) }
    return isContract ? [plain, { call, asks: 'receiver', data: encodeSafeTransfer(standard, transfer) }] : [plain]
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

function unsafe(request: NftTransferRequest, call: PlannedCall, { reason }: Refusal): ValidationFailed {
  return new ValidationFailed(
    call.items.map((place) => ({
      field: fieldOf(request, place, 'to'),
      code: 'unsafe_recipient',
      message: `${fieldOf(request, place, 'to')} is ${call.to}, a contract that does not take the token (${reason}): it would be stuck there. Name another receiver.`,
      details: { recipient: call.to, reason },
    })),
  )
}

function warningOf({ to }: PlannedCall, { reason }: Refusal): TransferWarning {
  const message = `${to} is a contract that does not say that it takes tokens (${reason}): what it gets may be stuck there. SAFE refuses this.`
  return { code: 'unsafe_recipient', message }
}
