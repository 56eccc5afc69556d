/**
 * Whether a token would refuse a transfer by its return value: some tokens return false instead of reverting, and
 * nothing moves.
 */
import { GAS_BOUNDS } from '../chain/forks.ts'
import { readCount, toQuantity } from '../chain/hex.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { returnsFalse } from '../chain/returns-false.ts'
import type { GasRequest } from './estimate-gas.ts'
import type { Intent } from './intent.ts'

/**
 * In the order of the requests, each a token transfer. False when nothing is known (no answer, a revert, a node that
 * has not seen the request's block): the result in a block then decides.
 */
export type RefusedByToken = (requests: readonly GasRequest[]) => Promise<readonly boolean[]>

/** The message for a transfer that its token refuses. */
export const REFUSED_BY_TOKEN = "The token's transfer() returns false: the transfer would move nothing."

/** Whether an intent calls `transfer` of a token. */
export function isTokenTransfer({ asset, data }: Pick<Intent, 'asset' | 'data'>): boolean {
  return asset.contract !== null && data === null
}

export function createRefusedByToken(client: RpcReader): RefusedByToken {
  return async (requests) => {
    if (requests.length === 0) return []
    // Requested first in the same batch, so the simulations use that block or a later one.
    const [head, ...answers] = await client.batch([{ method: 'eth_blockNumber', params: [] }, ...requests.map(toCall)])
    const seen = head?.ok ? readCount(head.value, 'a block number') : 0
    return requests.map(({ sinceBlock = 0 }, index) => {
      const answer = answers[index]
      return seen >= sinceBlock && answer?.ok === true && returnsFalse(answer.value)
    })
  }
}

function toCall({ from, call }: GasRequest) {
  return {
    method: 'eth_call',
    params: [{ from, to: call.to, data: call.data, gas: toQuantity(GAS_BOUNDS.tokenTransferMost) }, 'latest'],
  }
}
