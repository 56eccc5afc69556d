/** Assets over HTTP on a real PostgreSQL and a real chain with deployed tokens, honest and hostile. */
import { AbiCoder } from 'ethers/abi'
import type { Test } from 'tap'
import type { AssetChain } from '../../src/assets/asset-index.ts'
import { describeAsset } from '../../src/assets/describe-asset.ts'
import { resolveAsset } from '../../src/assets/resolve-asset.ts'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { sendMined, withAnvil } from './anvil.ts'
import { type ApiProcess, startApiProcess, withCapabilities } from './capabilities.ts'
import { deployToken } from './demo-token.ts'
import { TEST_CHAIN } from './log.ts'
import { compileSolidity, contractIn } from './solidity.ts'

export const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const HOSTILE = contractIn(compileSolidity('HostileToken.sol'), 'HostileToken')
export const DAI = '0x6B175474E89094C44Da98b954EedeAC495271d0F'

/** A chain on which tokens can be deployed, and a second one without a reachable node. */
export async function withAssets(t: Test) {
  const anvil = await withAnvil(t, { mining: 'each' })
  const env = { ETHEREUM_RPC_URLS: anvil.url, ETHEREUM_TOKENS: `DAI:${DAI}:18`, RPC_TIMEOUT_MS: '60000' }
  const api = await withCapabilities(t, ['assets'], {}, env)
  const { pool, log, send } = api
  return {
    ...readsOf(api),
    pool,
    log,
    ethereum: api.chainOf(TEST_CHAIN).settings,
    another: () => readsOf(startApiProcess(t, api.url, {}, env)),
    deploy: (symbol: string, decimals: number, name = `${symbol} Coin`) =>
      deployToken(anvil.url, { name, symbol, decimals }),
    register: (body: object, headers = {}) => send({ method: 'POST', url: '/v1/assets', payload: body, headers }),
    /** The behaviour of a hostile token: in its balances, and in its metadata. */
    hostile: async (reads: number, describes: number) => {
      const args = AbiCoder.defaultAbiCoder().encode(['uint8', 'uint8'], [reads, describes])
      const { contractAddress } = await sendMined(anvil.url, { from: RICH, data: HOSTILE.bytecode + args.slice(2) })
      const address = toChecksumAddress(contractAddress ?? '')
      const describe = (symbol: string, decimals: number) =>
        sendMined(anvil.url, {
          from: RICH,
          to: address,
          gas: '0x5f5e100',
          data: HOSTILE.abi.encodeFunctionData('describe', [symbol, decimals]),
        })
      return { address, describe }
    },
    remove: (id: string, headers = {}) =>
      send({ method: 'DELETE', url: `/v1/assets/${encodeURIComponent(id)}`, headers }),
    list: (query = '', headers = {}) => send({ method: 'GET', url: `/v1/assets${query}`, headers }),
  }
}

function readsOf(ctx: ApiProcess) {
  return {
    resolve: (tenantId: string, chain: AssetChain, name: string) => resolveAsset(ctx, tenantId, chain, name),
    describe: (tenantId: string, chain: AssetChain, id: string) => describeAsset(ctx, tenantId, chain, id),
  }
}
