/**
 * Whether addresses can receive tokens: an account can; a contract is asked with the call that a safe transfer makes
 * (ERC-721, ERC-1155), as a simulation that changes nothing on chain.
 */
import { AbiCoder } from 'ethers/abi'
import { concat } from 'ethers/utils'
import type { CodeLookup } from '../../chain/code.ts'
import { toQuantity } from '../../chain/hex.ts'
import type { RpcReader, RpcResult } from '../../chain/json-rpc.ts'
import { classifyCallFailure } from '../../chain/rpc-errors.ts'
import { Unavailable } from '../../core/errors.ts'
import type { TokenStandard } from './collection.ts'
import { RECEIVER_GAS } from './gas-rules.ts'

/** `onERC721Received(address,address,uint256,bytes)` and `onERC1155Received(address,address,uint256,uint256,bytes)`. */
const SELECTOR: Readonly<Record<TokenStandard, string>> = { ERC721: '0x150b7a02', ERC1155: '0xf23a6e61' }

/** A transfer about which the receiver is asked. */
export type Delivery = {
  readonly standard: TokenStandard
  /** The token contract, which makes the call. */
  readonly contract: string
  /** The sender of the transaction. */
  readonly operator: string
  /** The zero address for a mint. */
  readonly from: string
  readonly to: string
  readonly tokenId: bigint
  /** Units of the token; 1 for ERC-721. */
  readonly amount: bigint
}

/** For each delivery, in order, whether its receiver accepts it. @throws Unavailable when no node answered */
export type CanReceive = (deliveries: readonly Delivery[]) => Promise<readonly boolean[]>

export function createCanReceive(client: RpcReader, code: CodeLookup): CanReceive {
  return async (deliveries) => {
    const haveCode = await code.haveCode(deliveries.map(({ to }) => to))
    const asked = deliveries.filter((_, n) => haveCode[n])
    const answers = asked.length === 0 ? [] : await client.batch(asked.map(toCall))
    const taken = new Map(asked.map((delivery, n) => [delivery, isTaken(delivery, answers[n])]))
    return deliveries.map((delivery) => taken.get(delivery) ?? true)
  }
}

function toCall({ standard, contract, operator, from, to, tokenId, amount }: Delivery) {
  const amounts = standard === 'ERC721' ? [] : [amount]
  const types = ['address', 'address', 'uint256', ...amounts.map(() => 'uint256'), 'bytes']
  const values = AbiCoder.defaultAbiCoder().encode(types, [operator, from, tokenId, ...amounts, '0x'])
  const data = concat([SELECTOR[standard], values])
  return {
    method: 'eth_call',
    params: [{ from: contract, to, data, gas: toQuantity(RECEIVER_GAS.asked) }, 'latest'],
  }
}

function isTaken({ standard }: Delivery, answer: RpcResult | undefined): boolean {
  if (answer?.ok) return typeof answer.value === 'string' && answer.value.startsWith(SELECTOR[standard])
  if (answer !== undefined && classifyCallFailure(answer.error).type === 'reverted') return false
  throw new Unavailable('rpc_unavailable', 'The node could not call the contract of the recipient: try again.', {
    cause: answer?.error,
  })
}
