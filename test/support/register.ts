/** A contract that records its calls in order, and calls of it: shows the effects of transactions with call data. */
import type { Interface } from 'ethers/abi'
import { toBeHex, zeroPadValue } from 'ethers/utils'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { compileProbes } from './probe-contracts.ts'

export type Register = {
  readonly address: string
  readonly abi: Interface
  /** Call data that enters an id. @param afterId an id that must be entered already; 0: none */
  readonly enter: (id: number, afterId?: number) => string
  /** The entered ids, in order. */
  readonly entries: () => Promise<number[]>
  /** Closes it in the next block, before pending transactions. */
  readonly close: () => Promise<void>
}

/** @param url a node whose first account sends; a block is mined */
export async function deployRegister(url: string): Promise<Register> {
  const { abi, bytecode } = compileProbes().Register
  const rpc = (method: string, ...params: unknown[]) => callRpc(url, method, params)
  const [owner] = (await rpc('eth_accounts')) as string[]
  const hash = await rpc('eth_sendTransaction', { from: owner, data: bytecode })
  await rpc('evm_mine')
  const receipt = (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }
  const address = toChecksumAddress(receipt.contractAddress)
  return {
    address,
    abi,
    enter: (id, afterId = 0) => abi.encodeFunctionData('mint', [address, id, zeroPadValue(toBeHex(afterId), 32)]),
    async entries() {
      const data = abi.encodeFunctionData('all')
      const answer = (await rpc('eth_call', { to: address, data }, 'latest')) as string
      return [...abi.decodeFunctionResult('all', answer)[0]].map(Number)
    },
    async close() {
      const data = abi.encodeFunctionData('close')
      const dear = '0x174876e800' // 100 gwei: no test offers more.
      await rpc('eth_sendTransaction', {
        from: owner,
        to: address,
        data,
        maxFeePerGas: dear,
        maxPriorityFeePerGas: dear,
      })
    },
  }
}
