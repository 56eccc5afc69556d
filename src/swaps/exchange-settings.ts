/**
 * What is set about the exchanges of a chain, and the built-in addresses of those of public chains, from the npm packages of the exchanges.
 * The configuration can override all of them.
 */
import type { Environment, Network } from '../core/networks.ts'

export type VenueSettings = {
  /** For responses and metrics. */
  readonly name: string
  /** Uniswap V2 or V3, or an exchange with the same contracts. */
  readonly kind: 'v2' | 'v3'
  /** A V2 router, or SwapRouter02. EIP-55, as all addresses here. */
  readonly router: string
  /** QuoterV2; the router itself for V2. */
  readonly quoter: string
  /** Fees of the pools, in millionths; none for V2. */
  readonly tiers: readonly number[]
}

/** What the call data of a hosted source may do. EIP-55. */
export type SourceSettings = {
  /** Contracts that it may call. */
  readonly targets: readonly string[]
  /** Contracts that may get an allowance for it. */
  readonly spenders: readonly string[]
}

export type SwapSettings = {
  readonly venues: readonly VenueSettings[]
  readonly wrappedNative: string
  /** Tokens that a route may pass through, beside the wrapped native token. */
  readonly hops: readonly string[]
  /** Absent where no hosted source may be used. */
  readonly source?: SourceSettings
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

/** Absent where no package names exchanges. Each is checked on chain at its first use. */
export const PUBLIC_EXCHANGES: Readonly<Record<Environment, Readonly<Partial<Record<Network, SwapSettings>>>>> = {
  mainnet: {
    ethereum: {
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
    polygon: {
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
    binance: {
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
  },
  testnet: {
    ethereum: {
      venues: [
        v3('uniswap-v3', '0x3bFA4769FB09eefC5a80d6E87c3B9C650f7Ae48E', '0xEd1f6473345F45b75F8179591dd5bA1888cf2FB3'),
        v2('uniswap-v2', '0xeE567Fe1712Faf6149d80dA1E6934E354124CfE3'),
      ],
      wrappedNative: '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14',
      hops: ['0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238'],
    },
    binance: {
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
  },
}
