/** The current state of a chain according to its nodes. A node that does not answer is a result, not an error. */
import { toQuantity } from '../chain/hex.ts'
import type { RpcReader, RpcResult } from '../chain/json-rpc.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { chainName } from './words.ts'

/** A configured chain as the operator commands use it. */
export type OperatorChain = {
  readonly settings: Pick<
    ChainSettings,
    'network' | 'environment' | 'chainId' | 'confirmations' | 'maxFeePerGasWei' | 'minTipWei'
  >
  /** What a quorum of its nodes says alike. */
  readonly client: RpcReader
  /** The name of the setting with the hard cap. */
  readonly capSetting: string
  readonly urlsSetting: string
  /** What is sent to private relays alone, and the name of the setting with them; `null` where the nodes get everything. */
  readonly relayed: { readonly noun: string; readonly setting: string } | null
}

export type NodeNow =
  | { readonly up: true; readonly head: number; readonly baseFeePerGas: bigint }
  | { readonly up: false; readonly why: string }

export type ChainNow = Omit<OperatorChain, 'client'> & { readonly name: string; readonly node: NodeNow }

/** The head of the chain and its base fee (0 on a chain without one). */
export async function readChain({ client, ...chain }: OperatorChain): Promise<ChainNow> {
  const [latest] = await client.batch([{ method: 'eth_getBlockByNumber', params: ['latest', false] }])
  return { ...chain, name: chainName(chain.settings), node: nodeOf(latest) }
}

function nodeOf(latest: RpcResult | undefined): NodeNow {
  if (latest === undefined) return { up: false, why: 'no answer' }
  if (!latest.ok) return { up: false, why: latest.error.message }
  const { number, baseFeePerGas } = (latest.value ?? {}) as Readonly<Record<string, unknown>>
  if (typeof number !== 'string') return { up: false, why: 'the node has no newest block' }
  return {
    up: true,
    head: Number(number),
    baseFeePerGas: typeof baseFeePerGas === 'string' ? BigInt(baseFeePerGas) : 0n,
  }
}

/** The next nonce of each address according to the chain. `null` when no node answered. */
export async function readNonces(
  client: RpcReader,
  addresses: readonly string[],
  block: number | 'latest' | 'pending' = 'latest',
): Promise<(number | null)[]> {
  const at = typeof block === 'number' ? toQuantity(block) : block
  const answers = await client.batch(
    addresses.map((address) => ({ method: 'eth_getTransactionCount', params: [address, at] })),
  )
  return addresses.map((_, index) => {
    const answer = answers[index]
    return answer?.ok === true && typeof answer.value === 'string' ? Number(answer.value) : null
  })
}

/** The native balance of an address, wei. `null` when no node answered. */
export async function readNativeBalances(client: RpcReader, addresses: readonly string[]): Promise<(bigint | null)[]> {
  const answers = await client.batch(
    addresses.map((address) => ({ method: 'eth_getBalance', params: [address, 'latest'] })),
  )
  return addresses.map((_, index) => {
    const answer = answers[index]
    return answer?.ok === true && typeof answer.value === 'string' ? BigInt(answer.value) : null
  })
}
