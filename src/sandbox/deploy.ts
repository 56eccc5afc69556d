/** Deploys contracts on a local chain at addresses that are derived from the code alone (CREATE2, EIP-1014). */
import { readFileSync } from 'node:fs'
import { AbiCoder, type InterfaceAbi } from 'ethers/abi'
import { getCreate2Address } from 'ethers/address'
import { keccak256 } from 'ethers/crypto'
import { DEPLOYMENT_PROXY } from '../chain/deployment-proxy.ts'
import { callRpc } from './rpc.ts'

export type Artefact = { readonly abi: InterfaceAbi; readonly bytecode: string }

/** The first unlocked account of every anvil, which is funded and owns the deployed contracts. */
export const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** For the deployment proxy, which every anvil has from block 0. */
const SALT = `0x${'00'.repeat(32)}`

/** A contract of src/contracts/. */
export function artefact(name: string): Artefact {
  return JSON.parse(readFileSync(new URL(`../contracts/artifacts/${name}.json`, import.meta.url), 'utf8')) as Artefact
}

/** A contract that is wanted on a chain: its creation code, and the address that follows. */
export type Deployment = { readonly code: string; readonly address: string }

/** @param types of the arguments of the constructor */
export function planDeployment(
  bytecode: string,
  types: readonly string[] = [],
  values: readonly unknown[] = [],
): Deployment {
  const code = bytecode + AbiCoder.defaultAbiCoder().encode(types, values).slice(2)
  return { code, address: getCreate2Address(DEPLOYMENT_PROXY, SALT, keccak256(code)) }
}

/** Sends the deployments that the chain does not have; the next block has them. */
export async function deployMissing(url: string, deployments: readonly Deployment[]): Promise<void> {
  const codes = await Promise.all(deployments.map(({ address }) => callRpc(url, 'eth_getCode', [address, 'latest'])))
  for (const [index, { code }] of deployments.entries())
    if (codes[index] === '0x') await send(url, { to: DEPLOYMENT_PROXY, data: SALT + code.slice(2) })
}

/** Sends a transaction of the owner. Without `gas` the node must be able to execute it on the newest block. */
export async function send(url: string, transaction: Readonly<Record<string, string>>): Promise<void> {
  await callRpc(url, 'eth_sendTransaction', [{ from: OWNER, ...transaction }])
}

export async function mine(url: string): Promise<void> {
  await callRpc(url, 'evm_mine')
}
