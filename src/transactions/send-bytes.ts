/**
 * Sends signed bytes to those that may see them. With a private relay, only the relay gets the bytes of a swap, in each
 * of its versions: anybody who knows them can trade first. Everything else goes to the nodes. A cancellation goes to
 * both: it shows only that the nonce is used, the relay must stop offering the swap, and a relay that is down must not
 * prevent it.
 */
import type { RpcClient } from '../chain/rpc-client.ts'
import type { Submission } from '../chain/rpc-errors.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import type { Attempt, TransactionState } from './state.ts'

type Sender = Pick<RpcClient, 'sendRawTransactions'>

export type SendPorts = {
  readonly clientOf: (chainId: number) => Sender
  /** Null where swaps go to the nodes. */
  readonly relayOf: (chainId: number) => Sender | null
}

type Bytes = { readonly loaded: Pick<Loaded<TransactionState>, 'state'>; readonly attempt: Attempt }

/**
 * @param items in ascending order of their nonces
 * @returns the answer to each; that of the nodes for a cancellation. Never throws.
 */
export async function sendBytes(
  { clientOf, relayOf }: SendPorts,
  chainId: number,
  items: readonly Bytes[],
): Promise<readonly (Submission | undefined)[]> {
  const [nodes, relay] = [clientOf(chainId), relayOf(chainId)]
  if (relay === null) return nodes.sendRawTransactions(items.map(rawOf))
  const shown = items.filter((item) => !isHidden(item))
  const relayed = items.filter(isSwap)
  const [answers, relayAnswers] = await Promise.all([
    nodes.sendRawTransactions(shown.map(rawOf)),
    relay.sendRawTransactions(relayed.map(rawOf)),
  ])
  return items.map((item) => (isHidden(item) ? relayAnswers[relayed.indexOf(item)] : answers[shown.indexOf(item)]))
}

/**
 * Whether bytes of a swap cannot succeed any more: its deadline, which its call data contains, is over. A relay never
 * puts a transaction that fails into a block, so its nonce would stop the lane forever.
 */
export function isFutile({ relayOf }: Pick<SendPorts, 'relayOf'>, chainId: number, item: Bytes, now: string): boolean {
  const { state } = item.loaded
  if (state.state === 'unknown' || relayOf(chainId) === null || !isHidden(item)) return false
  const { validUntil } = state.intent
  return validUntil !== null && Date.parse(validUntil) < Date.parse(now)
}

function isHidden(item: Bytes): boolean {
  return isSwap(item) && item.attempt.purpose !== 'cancel'
}

function isSwap({ loaded: { state } }: Bytes): boolean {
  return state.state !== 'unknown' && state.type === 'SWAP'
}

function rawOf({ attempt }: Bytes): string {
  return attempt.rawTransaction
}
