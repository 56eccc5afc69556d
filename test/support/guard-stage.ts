/** A local chain with the guard of swaps, hostile contracts, and wallets that have approved the guard. */
import type { Interface } from 'ethers/abi'
import { concat } from 'ethers/utils'
import type { Test } from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { decodeRevert } from '../../src/chain/revert-reason.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { deployGuard } from '../../src/swaps/contracts/guard.ts'
import { withAnvil } from './anvil.ts'
import { type CompiledContract, compileSolidity, contractIn } from './solidity.ts'

export const WAYS = [
  'honest',
  'returns less',
  're-enters',
  'takes back',
  'spends gas',
  'sends to another',
  'pays code only',
  'switches its fee',
] as const
export type Way = (typeof WAYS)[number]

export type Sent = { readonly ok: boolean; readonly fee: bigint; readonly gas: bigint }
export type Transaction = { readonly to: string; readonly data: string; readonly value?: bigint }

const SOURCES = compileSolidity('HostileSwaps.sol')
/** Enough for every honest swap, and little for what spends gas. */
const GAS = 600_000n

export type GuardStage = Awaited<ReturnType<typeof withGuard>>

export async function withGuard(t: Test) {
  const { url } = await withAnvil(t, { mining: 'each' })
  const [owner = '', ...others] = ((await callRpc(url, 'eth_accounts')) as string[]).map(toChecksumAddress)

  async function mined(transaction: Readonly<Record<string, string>>) {
    const receipt = await callRpc(url, 'eth_sendTransactionSync', [{ gas: hex(GAS), ...transaction }])
    return receipt as Readonly<Record<string, string>>
  }

  async function send(from: string, { to, data, value = 0n }: Transaction): Promise<Sent> {
    const receipt = await mined({ from, to, data, value: hex(value) })
    const ok = receipt.status === '0x1'
    const gas = BigInt(receipt.gasUsed ?? 0)
    return { ok, gas, fee: gas * BigInt(receipt.effectiveGasPrice ?? 0) }
  }

  async function deploy(name: string, ...values: readonly unknown[]) {
    const { abi, bytecode }: CompiledContract = contractIn(SOURCES, name)
    const receipt = await mined({
      from: owner,
      gas: hex(8_000_000n),
      data: concat([bytecode, abi.encodeDeploy(values)]),
    })
    const address = toChecksumAddress(receipt.contractAddress ?? '')
    const call = (method: string, ...args: readonly unknown[]) => ({
      to: address,
      data: abi.encodeFunctionData(method, args),
    })
    return { address, abi, call }
  }

  const read = async (abi: Interface, { to, data }: Transaction, method: string) => {
    const answer = await callRpc(url, 'eth_call', [{ to, data }, 'latest'])
    return abi.decodeFunctionResult(method, answer as string)[0] as unknown
  }
  const deployment = await mined({ from: owner, gas: hex(8_000_000n), ...deployGuard() })
  if (deployment.status !== '0x1') throw new Error('the guard was not deployed')
  const agent = await deploy('Agent')
  return {
    url,
    owner,
    wallets: others.slice(0, 3),
    send,
    deploy,
    read,
    /** Why a transaction fails now, as the service decodes it; `null` for one that does not. */
    reasonOf: (from: string, { to, data, value = 0n }: Transaction) =>
      refusal(url, { from, to, data, value: hex(value), gas: hex(GAS) }),
    /** Makes calls that must succeed, in one transaction of an agent. */
    prepare: async (...calls: readonly Transaction[]) => {
      const steps = calls.map(({ to, data, value = 0n }) => [to, value, data])
      const { ok } = await send(owner, agent.call('act', steps, true))
      if (!ok) throw new Error('a preparation failed')
    },
    agent,
  }
}

export type Deployed = Awaited<ReturnType<GuardStage['deploy']>>

async function refusal(url: string, call: Readonly<Record<string, string>>): Promise<string | null> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [call, 'latest'] })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { error } = (await response.json()) as { error?: { data?: string; message: string } }
  return error === undefined ? null : (decodeRevert(error.data ?? '0x')?.text ?? error.message)
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`
}
