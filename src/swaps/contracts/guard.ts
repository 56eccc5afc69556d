/**
 * The guard of swaps and its executor: where they are on every chain, the call of the guard, and whether a chain has them.
 * Wallets approve the guard alone; the executor makes the calls of routes, and nobody approves it.
 */
import type { Result } from 'ethers/abi'
import { getCreate2Address, getCreateAddress } from 'ethers/address'
import { keccak256 } from 'ethers/crypto'
import { type ContractRequest, DEPLOYMENT_PROXY } from '../../chain/deployment-proxy.ts'
import { readData } from '../../chain/hex.ts'
import { type RpcReader, resultValue } from '../../chain/json-rpc.ts'
import { CODE_WITHOUT_ADDRESS, GUARD_ABI, GUARD_CREATION_CODE } from './guard-artefact.ts'
import type { ContractCallData } from './router.ts'

const SALT = `0x${'00'.repeat(32)}`
/** The guard is deployed by the deterministic deployment proxy, and deploys the executor: both addresses follow from the code. */
export const GUARD_ADDRESS = getCreate2Address(DEPLOYMENT_PROXY, SALT, keccak256(GUARD_CREATION_CODE))
export const EXECUTOR_ADDRESS = getCreateAddress({ from: GUARD_ADDRESS, nonce: 1 })

/** Each contract keeps the address of the other in its code. */
const CONTRACTS = [
  {
    what: 'swap guard',
    address: GUARD_ADDRESS,
    hash: keccak256(withAddress(CODE_WITHOUT_ADDRESS.guard, EXECUTOR_ADDRESS)),
  },
  {
    what: 'executor of swaps',
    address: EXECUTOR_ADDRESS,
    hash: keccak256(withAddress(CODE_WITHOUT_ADDRESS.executor, GUARD_ADDRESS)),
  },
] as const
const GUARD_BLOCKS = ['latest', 'finalized'] as const
type GuardBlock = (typeof GUARD_BLOCKS)[number]

/** In the contracts. */
const NATIVE = `0x${'00'.repeat(20)}`

/** A swap through the guard, whose caller pays and receives. Base units; `null` for the native currency. */
export type GuardedSwap = {
  readonly sold: string | null
  readonly bought: string | null
  readonly amount: bigint
  readonly minimum: bigint
  /** Seconds since the epoch: the guard refuses the swap in a later block. */
  readonly deadline: number
  /** The contract that the executor calls. */
  readonly target: string
  /** Who takes the sold token from the executor; `null` for the native currency. */
  readonly spender: string | null
  readonly data: string
}

export function encodeGuardedSwap(swap: GuardedSwap): ContractCallData {
  const { sold, bought, amount, minimum, deadline, target, spender, data } = swap
  const order = [sold ?? NATIVE, bought ?? NATIVE, amount, minimum, deadline, [target, spender ?? NATIVE, data]]
  return {
    to: GUARD_ADDRESS,
    value: sold === null ? amount : 0n,
    data: GUARD_ABI.encodeFunctionData('swap', [order]),
  }
}

/** @returns `null` for call data that `encodeGuardedSwap` does not make, be it only by another order of its parts */
export function decodeGuardedSwap(data: string): GuardedSwap | null {
  try {
    const [order] = GUARD_ABI.decodeFunctionData('swap', data)
    const [sold, bought, amount, minimum, deadline, [target, spender, inner]] = order as Result
    const assetOf = (address: string) => (address === NATIVE ? null : address)
    const swap = {
      ...{ sold: assetOf(sold), bought: assetOf(bought), amount, minimum, deadline: Number(deadline) },
      ...{ target, spender: assetOf(spender), data: inner },
    }
    return encodeGuardedSwap(swap).data === data.toLowerCase() ? swap : null
  } catch {
    return null
  }
}

/** What a swap through the guard exchanged. Base units. */
export type GuardedAmounts = { readonly paid: bigint; readonly received: bigint }

const SWAPPED = GUARD_ABI.getEvent('Swapped')

/** @returns `null` for any other log, and for one of another wallet */
export function guardedAmountsOf(
  log: { readonly address: string; readonly topics: readonly string[]; readonly data: string },
  wallet: string,
): GuardedAmounts | null {
  if (SWAPPED === null || log.address.toLowerCase() !== GUARD_ADDRESS.toLowerCase()) return null
  if (log.topics[0] !== SWAPPED.topicHash) return null
  const [owner, , , paid, received] = GUARD_ABI.decodeEventLog(SWAPPED, log.data, log.topics)
  return String(owner).toLowerCase() === wallet.toLowerCase() ? { paid, received } : null
}

/** Deploys the guard and its executor on a chain without them. Reverts when they are there. */
export function deployGuard(): ContractRequest {
  return { to: DEPLOYMENT_PROXY, data: SALT + GUARD_CREATION_CODE.slice(2) }
}

/**
 * A call of an address without code succeeds, and keeps its value. So a quorum must see both codes, and in a final
 * block too: a reorg may revoke a deployment, and leave a swap that was signed after it.
 *
 * @param client what a quorum says alike
 * @returns what is wrong with the guard of a chain; `null` when both contracts have their code
 * @throws Unavailable when no node answers, ChainRefused when one knows no final block
 */
export async function readGuardProblem(
  client: RpcReader,
  blocks: readonly GuardBlock[] = GUARD_BLOCKS,
): Promise<string | null> {
  const places = blocks.flatMap((block) => CONTRACTS.map((contract) => ({ block, ...contract })))
  const requests = places.map(({ address, block }) => ({ method: 'eth_getCode', params: [address, block] }))
  const codes = (await client.batch(requests)).map((result) => resultValue(result, 'eth_getCode'))
  const problems = places.flatMap((place, i) => codeProblem(place, readData(codes[i], 'a contract code')) ?? [])
  return problems[0] ?? null
}

type Place = (typeof CONTRACTS)[number] & { readonly block: GuardBlock }

function codeProblem({ what, address, hash, block }: Place, code: string): string | null {
  if (keccak256(code) === hash) return null
  if (code !== '0x') return `the code at ${address} is not that of the ${what}`
  return `the ${what} is not deployed at ${address}${block === 'latest' ? '' : ' in a final block yet'}`
}

/** The code of a contract with one immutable address, which the compiler leaves empty: `PUSH32` of 0. */
function withAddress(code: string, address: string): string {
  return code.replaceAll(`7f${'00'.repeat(32)}`, `7f${'00'.repeat(12)}${address.slice(2).toLowerCase()}`)
}
