/** An honest ERC-20 contract on a chain whose first account is unlocked. */
import { readFile } from 'node:fs/promises'
import { AbiCoder } from 'ethers/abi'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { sendMined } from './anvil.ts'

const ARTIFACT = new URL('../../src/contracts/artifacts/DemoToken.json', import.meta.url)

export type DemoToken = { readonly name: string; readonly symbol: string; readonly decimals: number }

/** @returns the contract's address; the chain's first account owns it */
export async function deployToken(url: string, { name, symbol, decimals }: DemoToken): Promise<string> {
  const { bytecode } = JSON.parse(await readFile(ARTIFACT, 'utf8')) as { bytecode: string }
  const [owner = ''] = (await callRpc(url, 'eth_accounts', [])) as string[]
  const types = ['string', 'string', 'uint8', 'address']
  const args = AbiCoder.defaultAbiCoder().encode(types, [name, symbol, decimals, owner])
  const { contractAddress } = await sendMined(url, { from: owner, data: bytecode + args.slice(2) })
  return toChecksumAddress(contractAddress ?? '')
}
