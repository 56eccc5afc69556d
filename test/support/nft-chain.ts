/** A local chain with the collection factory, and the calls and reads for tests of the contracts. */
import type { Interface } from 'ethers/abi'
import { getAddress } from 'ethers/address'
import { sha256 } from 'ethers/crypto'
import { concat, dataSlice, toUtf8Bytes } from 'ethers/utils'
import type { Test } from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import type { ContractRequest } from '../../src/chain/deployment-proxy.ts'
import { decodeRevert } from '../../src/chain/revert-reason.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import {
  type CollectionConfig,
  collectionSalt,
  deployCollection,
  deployFactory,
  predictCollectionAddress,
} from '../../src/nft/contracts/collection.ts'
import { encodeMint } from '../../src/nft/contracts/encode-calls.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from './anvil.ts'

export type Receipt = {
  readonly ok: boolean
  readonly gasUsed: number
  readonly contractAddress: string | null
  readonly logs: readonly { readonly address: string; readonly topics: string[]; readonly data: string }[]
}

export type NftChain = {
  readonly url: string
  readonly chainId: number
  /** Funded, unlocked accounts. The first one deployed the factory and owns collections. */
  readonly owner: string
  readonly alice: string
  readonly bob: string
  readonly send: (from: string, request: { to?: string; data: string; gas?: string }) => Promise<Receipt>
  /** The contract's error for a call, or `null` when it accepts. */
  readonly refusal: (from: string, request: ContractRequest) => Promise<string | null>
  readonly read: (abi: Interface, to: string, method: string, values?: readonly unknown[]) => Promise<unknown>
  readonly deploy: (abi: Interface, bytecode: string, values?: readonly unknown[]) => Promise<string>
  readonly collection: (config?: Partial<CollectionConfig>) => Promise<Collection>
}

export type Collection = {
  readonly address: string
  readonly abi: Interface
  readonly config: CollectionConfig
  readonly salt: string
  readonly deployment: Receipt
  readonly request: (method: string, ...values: unknown[]) => ContractRequest
  readonly read: (method: string, ...values: unknown[]) => Promise<unknown>
  /** Mints by the owner, one unit by default. */
  readonly mint: (tokenId: number, recipient: string, amount?: bigint) => Promise<Receipt>
}

const GAS = '0xf00000'

export async function withNftChain(t: Test): Promise<NftChain> {
  const { url, chainId } = await withAnvil(t, { mining: 'call' })
  const accounts = (await callRpc(url, 'eth_accounts')) as string[]
  const [owner = '', alice = '', bob = ''] = accounts.map(toChecksumAddress)
  let made = 0

  const send: NftChain['send'] = async (from, request) => {
    const hash = await callRpc(url, 'eth_sendTransaction', [{ from, gas: GAS, ...request }])
    await callRpc(url, 'evm_mine')
    const receipt = (await callRpc(url, 'eth_getTransactionReceipt', [hash])) as Record<string, string>
    return {
      ok: receipt.status === '0x1',
      gasUsed: Number(receipt.gasUsed),
      contractAddress: receipt.contractAddress ?? null,
      logs: receipt.logs as unknown as Receipt['logs'],
    }
  }
  const read: NftChain['read'] = async (abi, to, method, values = []) => {
    const data = abi.encodeFunctionData(method, values)
    const returned = (await callRpc(url, 'eth_call', [{ to, data }, 'latest'])) as string
    const result = abi.decodeFunctionResult(method, returned)
    return result.length === 1 ? result.toArray(true)[0] : result.toArray(true)
  }
  const deployed = await send(owner, deployFactory())
  if (!deployed.ok) throw new Error('the factory was not deployed')

  return {
    url,
    chainId,
    owner,
    alice,
    bob,
    send,
    refusal: (from, request) => refusalOf(url, from, request),
    read,
    deploy: async (abi, bytecode, values = []) => {
      const { contractAddress } = await send(owner, { data: concat([bytecode, abi.encodeDeploy(values)]) })
      if (contractAddress === null) throw new Error('the contract was not deployed')
      return toChecksumAddress(contractAddress)
    },
    collection: async (given = {}) => {
      const config = { ...collectionConfig(owner), ...given }
      const salt = collectionSalt(`col_${made++}`)
      const deployment = await send(owner, deployCollection(config, salt))
      const address = predictCollectionAddress(config, salt, owner)
      const abi = COLLECTION_ABI[config.standard]
      return {
        address,
        abi,
        config,
        salt,
        deployment,
        request: (method, ...values) => ({ to: address, data: abi.encodeFunctionData(method, values) }),
        read: (method, ...values) => read(abi, address, method, values),
        mint: (tokenId, recipient, amount = 1n) => {
          const token = { recipient, amount, digest: digestOf(tokenId) }
          return send(config.owner, { to: address, data: encodeMint(config.standard, BigInt(tokenId), token) })
        },
      }
    },
  }
}

/** The digest of an example document, different for each number. */
export function digestOf(n: number): string {
  return sha256(toUtf8Bytes(`{"name":"Token ${n}"}`))
}

/** An unused address. */
export function strangerOf(n: number): string {
  return getAddress(dataSlice(sha256(toUtf8Bytes(`stranger ${n}`)), 0, 20))
}

export function collectionConfig(owner: string): CollectionConfig {
  return {
    standard: 'ERC721',
    kind: 'STANDARD',
    name: 'Example Collection',
    symbol: 'EXC',
    baseUri: '',
    contractDigest: null,
    owner,
    royaltyRecipient: owner,
    royaltyBps: 250,
    maxSupply: null,
    transferable: true,
  }
}

async function refusalOf(url: string, from: string, request: ContractRequest): Promise<string | null> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_call',
      params: [{ from, gas: GAS, ...request }, 'latest'],
    }),
  })
  const { error } = (await response.json()) as { error?: { data?: string; message: string } }
  if (error === undefined) return null
  return decodeRevert(error.data ?? '0x')?.text ?? error.message
}
