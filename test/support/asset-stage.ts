/** Assets over HTTP on a real PostgreSQL and a real chain with deployed tokens, honest and hostile. */
import { AbiCoder } from 'ethers/abi'
import type { Test } from 'tap'
import { createAssetBooks } from '../../src/assets/asset-books.ts'
import type { AssetChain } from '../../src/assets/asset-index.ts'
import { describeAsset } from '../../src/assets/describe-asset.ts'
import { resolveAsset } from '../../src/assets/resolve-asset.ts'
import { assetRoutes } from '../../src/assets/routes.ts'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { createChainClients } from '../../src/chain/client-set.ts'
import type { ChainSettings } from '../../src/chain/settings.ts'
import { sendMined, withAnvil } from './anvil.ts'
import { deployToken } from './demo-token.ts'
import { startTestApp } from './http.ts'
import { withLog } from './log.ts'
import { compileSolidity, contractIn } from './solidity.ts'

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
export const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const HOSTILE = contractIn(compileSolidity('HostileToken.sol'), 'HostileToken')
export const DAI = '0x6B175474E89094C44Da98b954EedeAC495271d0F'

function settings(network: 'ethereum' | 'polygon', chainId: number, url: string): ChainSettings {
  return {
    network,
    environment: 'mainnet',
    chainId,
    rpcUrls: [url],
    confirmations: 2,
    minTipWei: 1n,
    maxTipWei: 1_000_000_000_000n,
    maxFeePerGasWei: 10n ** 12n,
    pollIntervalMs: 20,
    multicall3Address: null,
    priceFeeds: {},
    tokens: [{ symbol: 'DAI', address: DAI, decimals: 18 }],
  }
}

/** A chain on which tokens can be deployed, and a second one without a reachable node. */
export async function withAssets(t: Test) {
  const { pool, log, accept } = await withLog(t)
  const anvil = await withAnvil(t, { mining: 'each' })
  const ethereum = settings('ethereum', 1000001, anvil.url)
  const polygon = { ...settings('polygon', 1000137, 'http://127.0.0.1:9'), tokens: [] }
  const chains = createChainClients({ chains: [ethereum, polygon], timeoutMs: 60_000, now: Date.now, log: SILENT })
  t.after(() => chains.close())
  const compose = () => {
    const books = createAssetBooks(pool)
    const chainOf = (chainId: number) => {
      const chain = chains.byChainId(chainId)
      if (chain === undefined) throw new Error('the chain is configured')
      return chain
    }
    return {
      resolve: (tenantId: string, chain: AssetChain, name: string) => resolveAsset({ books }, tenantId, chain, name),
      describe: (tenantId: string, chain: AssetChain, id: string) => describeAsset({ books }, tenantId, chain, id),
      routes: assetRoutes({ pool, log, accept, books, chains, chainOf }),
    }
  }
  const { routes, ...rest } = compose()
  const { send } = await startTestApp({ routes })
  return {
    ...rest,
    pool,
    log,
    ethereum,
    another: compose,
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
