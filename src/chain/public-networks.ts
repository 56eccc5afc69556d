/**
 * The built-in contract addresses of the public chains, from the deployments list of Multicall3, Chainlink's price feed
 * directory and the token issuers. The configuration can override all of them.
 */
import type { Environment, Network } from '../core/networks.ts'
import type { TokenSetting } from './settings.ts'

/** The same on all six chains: it was deployed by a signed transaction that is valid on every chain. */
export const MULTICALL3_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'

export type PublicContracts = {
  /** Price in US dollars, by asset symbol. */
  readonly priceFeeds: Readonly<Record<string, string>>
  readonly tokens: readonly TokenSetting[]
}

const ETHEREUM: PublicContracts = {
  priceFeeds: {
    ETH: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
    WETH: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
    USDC: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6',
    USDT: '0x3E7d1eAB13ad0104d2750B8863b489D65364e32D',
    DAI: '0xAed0c38402a5d19df6E4c03F4E2DceD6e29c1ee9',
  },
  tokens: [
    { symbol: 'USDC', address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 },
    { symbol: 'USDT', address: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals: 6 },
    { symbol: 'DAI', address: '0x6B175474E89094C44Da98b954EedeAC495271d0F', decimals: 18 },
    { symbol: 'WETH', address: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', decimals: 18 },
  ],
}

const POLYGON: PublicContracts = {
  priceFeeds: {
    // The feed was named MATIC / USD; POL replaced MATIC one to one.
    POL: '0xAB594600376Ec9fD91F8e885dADF0CE036862dE0',
    WETH: '0xF9680D99D6C9589e2a93a78A04A279e509205945',
    USDC: '0xfE4A8cc5b5B2366C1B58Bea3858e81843581b2F7',
    USDT: '0x0A6513e40db6EB1b165753AD52E80663aeA50545',
    DAI: '0x4746DeC9e833A82EC7C2C1356372CcF2cfcD2F3D',
  },
  tokens: [
    { symbol: 'USDC', address: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', decimals: 6 },
    { symbol: 'USDT', address: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F', decimals: 6 },
    { symbol: 'DAI', address: '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063', decimals: 18 },
    { symbol: 'WETH', address: '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619', decimals: 18 },
  ],
}

const BINANCE: PublicContracts = {
  priceFeeds: {
    BNB: '0x0567F2323251f0Aab15c8dFb1967E4e8A7D42aeE',
    ETH: '0x9ef1B8c0E4F7dc8bF5719Ea496883DC6401d5b2e',
    USDC: '0x51597f405303C4377E36123cBc172b13269EA163',
    USDT: '0xB97Ad0E74fa7d920791E90258A6E2085088b4320',
    DAI: '0x132d3C0B1D2cEa0BC552588063bdBb210FDeecfA',
  },
  // The stable coins of BNB Smart Chain are pegged by Binance and have 18 decimals there.
  tokens: [
    { symbol: 'USDC', address: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', decimals: 18 },
    { symbol: 'USDT', address: '0x55d398326f99059fF775485246999027B3197955', decimals: 18 },
    { symbol: 'DAI', address: '0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3', decimals: 18 },
    { symbol: 'ETH', address: '0x2170Ed0880ac9A755fd29B2688956BD959F933F8', decimals: 18 },
  ],
}

const SEPOLIA: PublicContracts = {
  priceFeeds: {
    ETH: '0x694AA1769357215DE4FAC081bf1f309aDC325306',
    USDC: '0xA2F78ab2355fe2f984D808B5CeE7FD0A93D5270E',
  },
  tokens: [{ symbol: 'USDC', address: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', decimals: 6 }],
}

const AMOY: PublicContracts = {
  priceFeeds: {
    POL: '0x001382149eBa3441043c1c66972b4772963f5D43',
    USDC: '0x1b8739bB4CdF0089d07097A9Ae5Bd274b29C6F16',
  },
  tokens: [{ symbol: 'USDC', address: '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582', decimals: 6 }],
}

const BSC_TESTNET: PublicContracts = {
  priceFeeds: { BNB: '0x2514895c72f50D8bd4B4F9b1110F0D6bD2c97526' },
  tokens: [],
}

export const PUBLIC_CONTRACTS: Readonly<Record<Environment, Readonly<Record<Network, PublicContracts>>>> = {
  mainnet: { ethereum: ETHEREUM, polygon: POLYGON, binance: BINANCE },
  testnet: { ethereum: SEPOLIA, polygon: AMOY, binance: BSC_TESTNET },
}
