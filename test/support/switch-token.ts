/** A token whose fee for transfers can be switched on, with deep pools on every exchange of a chain. */
import { Interface } from 'ethers/abi'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { fillPools } from '../../src/sandbox/added/pools.ts'
import type { ChainToken } from '../../src/sandbox/addition.ts'
import { OWNER, send } from '../../src/sandbox/deploy.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import type { ExchangeChain } from './exchanges.ts'
import { compileSolidity, contractIn } from './solidity.ts'
import { ALICE, mined } from './swap-stage.ts'

const MONEY = new Interface(['function deposit() payable', 'function mint(address to, uint256 amount)'])
/** US dollars, with eight decimals. */
const [NATIVE_PRICE, PRICE] = [3_000n * 10n ** 8n, 10n ** 8n]

export type SwitchToken = {
  readonly contract: string
  /** @param bps what each transfer loses */
  readonly setFee: (bps: number) => Promise<unknown>
}

/** One of it is worth a dollar. Its V3 pools are deeper than its V2 pair. */
export async function deploySwitchToken({ url, contracts, exchanges }: ExchangeChain): Promise<SwitchToken> {
  const { abi, bytecode } = contractIn(compileSolidity('SwitchToken.sol'), 'SwitchToken')
  const { contractAddress } = await mined(url, { from: OWNER, data: bytecode })
  const contract = toChecksumAddress(contractAddress ?? '')
  const owned = (address: string, decimals: number): ChainToken => ({
    address,
    decimals,
    price: PRICE,
    supply: async () => undefined,
  })
  const native: ChainToken = {
    ...owned(contracts.wrappedNative, 18),
    price: NATIVE_PRICE,
    async supply(amount) {
      const held = BigInt((await callRpc(url, 'eth_getBalance', [OWNER, 'latest'])) as string)
      await callRpc(url, 'anvil_setBalance', [OWNER, toQuantity(held + amount)])
      const data = MONEY.encodeFunctionData('deposit')
      await send(url, { to: contracts.wrappedNative, data, value: toQuantity(amount) })
    },
  }
  const usdc: ChainToken = {
    ...owned(contracts.usdc, 6),
    supply: (amount) => send(url, { to: contracts.usdc, data: MONEY.encodeFunctionData('mint', [OWNER, amount]) }),
  }
  await fillPools(url, exchanges, [native, owned(contract, 18), usdc])
  await callRpc(url, 'evm_mine')
  const setFee = (bps: number) =>
    mined(url, { from: ALICE, to: contract, data: abi.encodeFunctionData('setFee', [bps]) })
  return { contract, setFee }
}
