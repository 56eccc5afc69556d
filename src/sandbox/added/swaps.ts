/** The guard of swaps, and exchanges with pools: each local chain has them, without the packages of the exchanges only the guard. */
import type { Addition, Addresses } from '../addition.ts'
import type { Exchanges } from './exchanges.ts'

/** The fees of the pools that the sandbox makes. */
const TIERS = '500+3000+10000'

const WITHOUT_EXCHANGES =
  'the local chains have no exchanges: npm ci without --omit=dev installs their contracts (@uniswap/*)'

const SWAP = `
  # quote a swap of 0.1 ETH over the exchanges of the chain, make it, then get what it gave
  Q=$(api $URL/v1/wallets/$WALLET/swap/quote -d '{"from_asset":"ETH","to_asset":"USDC","amount":"0.1"}')
  QUOTE=$(echo "$Q" | field quote_id); echo "$Q"
  S=$(api $URL/v1/wallets/$WALLET/swap -d '{"quote_id":"'$QUOTE'"}')
  TX=$(echo "$S" | field transaction_id); echo "$S"
  sleep 4; api $URL/v1/wallets/$WALLET/transactions/$TX
`

export const swaps: Addition = {
  async contracts() {
    const [{ GUARD_CREATION_CODE }, { planDeployment }, { planExchanges }, { fillPools }] = await Promise.all([
      import('../../swaps/contracts/guard-artefact.ts'),
      import('../deploy.ts'),
      import('./exchanges.ts'),
      import('./pools.ts'),
    ])
    return {
      plan: (wrappedNative, packages) => ({
        // It deploys the executor of its swaps.
        swapGuard: planDeployment(GUARD_CREATION_CODE),
        ...planExchanges(wrappedNative, packages),
      }),
      async fill(url, added, tokens) {
        const exchanges = exchangesOf(added)
        if (exchanges !== null) await fillPools(url, exchanges, tokens)
      },
    }
  },
  chainEnv({ wrappedNative, usdc, usdt }, added) {
    const exchanges = exchangesOf(added)
    if (exchanges === null) return {}
    const { v2Router, swapRouter, quoter } = exchanges
    return {
      SWAP_VENUES: `uniswap-v3:v3:${swapRouter}:${quoter}:${TIERS},uniswap-v2:v2:${v2Router}`,
      WRAPPED_NATIVE: wrappedNative,
      SWAP_HOPS: `${usdc},${usdt}`,
    }
  },
  lacks: (added) => (exchangesOf(added) === null ? WITHOUT_EXCHANGES : null),
  trying: SWAP,
}

/** The exchanges among the contracts of a chain; `null` without their packages. */
export function exchangesOf(added: Addresses): Exchanges | null {
  return 'swapRouter' in added ? (added as Exchanges) : null
}
