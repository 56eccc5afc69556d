/**
 * Whether addresses can handle tokens that are sent to them: an account can, a contract says so by the answer to the question
 * that a safe transfer asks (ERC-721, ERC-1155). Asking changes nothing on chain.
 */
import { AbiCoder } from 'ethers/abi'
import { concat } from 'ethers/utils'
import { Unavailable } from '../core/errors.ts'
import type { CodeLookup } from './code.ts'
import { toQuantity } from './hex.ts'
import type { RpcReader, RpcResult } from './json-rpc.ts'
import type { TokenStandard } from './nft-collection.ts'
import { classifyCallFailure } from './rpc-errors.ts'

/** `onERC721Received(address,address,uint256,bytes)` and `onERC1155Received(address,address,uint256,uint256,bytes)`. */
const SELECTOR: Readonly<Record<TokenStandard, string>> = { ERC721: '0x150b7a02', ERC1155: '0xf23a6e61' }

/** What a receiver may use to answer; what it does beyond that no transfer would pay for. */
const ASKING_GAS = 500_000n

/** A token on its way, as its receiver is asked about it. */
export type Delivery = {
  readonly standard: TokenStandard
  /** The contract of the token, which asks. */
  readonly contract: string
  /** Who sends the transaction. */
  readonly operator: string
  /** The zero address in a mint. */
  readonly from: string
  readonly to: string
  readonly tokenId: bigint
  /** Units of the token; 1 in ERC-721. */
  readonly amount: bigint
}

/** For each delivery, in order, whether its receiver takes it. @throws Unavailable when no node answered */
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
  return { method: 'eth_call', params: [{ from: contract, to, data, gas: toQuantity(ASKING_GAS) }, 'latest'] }
}

function isTaken({ standard }: Delivery, answer: RpcResult | undefined): boolean {
  if (answer?.ok) return typeof answer.value === 'string' && answer.value.startsWith(SELECTOR[standard])
  if (answer !== undefined && classifyCallFailure(answer.error).type === 'reverted') return false
  throw new Unavailable('rpc_unavailable', 'The node could not ask the receiver: try again.', { cause: answer?.error })
}
