/**
 * The built-in contract addresses of the public chains, from the deployments list of Multicall3, Chainlink's price feed
 * directory, the token issuers and the npm packages of the exchanges. The configuration can override all of them.
 */
import type { Environment, Network } from '../core/networks.ts'
import type { SwapSettings, TokenSetting, VenueSettings } from './settings.ts'

/** The same on all six chains: it was deployed by a signed transaction that is valid on every chain. */
export const MULTICALL3_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'

export type PublicContracts = {
  /** Price in US dollars, by asset symbol. */
  readonly priceFeeds: Readonly<Record<string, string>>
  readonly tokens: readonly TokenSetting[]
  /** Absent where no package names exchanges. Each is checked on chain at its first use. */
  readonly swaps?: SwapSettings
}

/** The fee tiers of Uniswap V3, in millionths. */
export const USUAL_TIERS: readonly number[] = [100, 500, 3_000, 10_000]
/** PancakeSwap has another third tier. */
const PANCAKE_TIERS: readonly number[] = [100, 500, 2_500, 10_000]

function v2(name: string, router: string): VenueSettings {
  return { name, kind: 'v2', router, quoter: router, tiers: [] }
}

function v3(name: string, router: string, quoter: string, tiers = USUAL_TIERS): VenueSettings {
  return { name, kind: 'v3', router, quoter, tiers }
}

/** The same contracts on Ethereum and Polygon. */
const UNISWAP_V3 = v3(
  'uniswap-v3',
  '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45',
  '0x61fFE014bA17989E743c5F6cB21bF9697530B21e',
)

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
  swaps: {
    venues: [
      UNISWAP_V3,
      v2('uniswap-v2', '0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D'),
      v2('sushiswap-v2', '0xd9e1cE17f2641f24aE83637ab66a2cca9C378B9F'),
    ],
    wrappedNative: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    // USDC, USDT, WBTC.
    hops: [
      '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
      '0xdAC17F958D2ee523a2206206994597C13D831ec7',
      '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599',
    ],
  },
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
  swaps: {
    venues: [
      UNISWAP_V3,
      v2('uniswap-v2', '0xedf6066a2b290C185783862C7F4776A2C8077AD1'),
      v2('sushiswap-v2', '0x1b02dA8Cb0d097eB8D57A175b88c7D8b47997506'),
    ],
    wrappedNative: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
    // USDC, USDC.e, USDT, WETH.
    hops: [
      '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
      '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174',
      '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
      '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619',
    ],
  },
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
  swaps: {
    venues: [
      v3(
        'pancakeswap-v3',
        '0x13f4EA83D0bd40E75C8222255bc855a974568Dd4',
        '0xB048Bbc1Ee6b733FFfCFb9e9CeF7375518e25997',
        PANCAKE_TIERS,
      ),
      v2('pancakeswap-v2', '0x10ED43C718714eb63d5aA57B78B54704E256024E'),
      v3('uniswap-v3', '0xB971eF87ede563556b2ED4b1C0b0019111Dd85d2', '0x78D78E420Da98ad378D7799bE8f4AF69033EB077'),
      v2('uniswap-v2', '0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24'),
      v2('sushiswap-v2', '0x1b02dA8Cb0d097eB8D57A175b88c7D8b47997506'),
    ],
    wrappedNative: '0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c',
    // USDT, USDC, BTCB.
    hops: [
      '0x55d398326f99059fF775485246999027B3197955',
      '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d',
      '0x7130d2A12B9BCbFAe4f2634d864A1Ee1Ce3Ead9c',
    ],
  },
}

const SEPOLIA: PublicContracts = {
  priceFeeds: {
    ETH: '0x694AA1769357215DE4FAC081bf1f309aDC325306',
    USDC: '0xA2F78ab2355fe2f984D808B5CeE7FD0A93D5270E',
  },
  tokens: [{ symbol: 'USDC', address: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', decimals: 6 }],
  swaps: {
    venues: [
      v3('uniswap-v3', '0x3bFA4769FB09eefC5a80d6E87c3B9C650f7Ae48E', '0xEd1f6473345F45b75F8179591dd5bA1888cf2FB3'),
      v2('uniswap-v2', '0xeE567Fe1712Faf6149d80dA1E6934E354124CfE3'),
    ],
    wrappedNative: '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14',
    hops: ['0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238'],
  },
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
  swaps: {
    venues: [
      v3(
        'pancakeswap-v3',
        '0x9a489505a00cE272eAa5e07Dba6491314CaE3796',
        '0xbC203d7f83677c7ed3F7acEc959963E7F4ECC5C2',
        PANCAKE_TIERS,
      ),
    ],
    wrappedNative: '0xae13d989daC2f0dEbFf460aC112a837C89BAa7cd',
    hops: [],
  },
}

export const PUBLIC_CONTRACTS: Readonly<Record<Environment, Readonly<Record<Network, PublicContracts>>>> = {
  mainnet: { ethereum: ETHEREUM, polygon: POLYGON, binance: BINANCE },
  testnet: { ethereum: SEPOLIA, polygon: AMOY, binance: BSC_TESTNET },
}
