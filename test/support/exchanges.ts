/** A local chain with exchanges and filled pools, as each chain of the sandbox has them. */
import type { Test } from 'tap'
import type { Network } from '../../src/core/networks.ts'
import type { Exchanges } from '../../src/sandbox/added/exchanges.ts'
import { exchangesOf } from '../../src/sandbox/added/swaps.ts'
import type { ChainContracts } from '../../src/sandbox/addition.ts'
import type { Anvil } from '../../src/sandbox/anvil.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import { chainEnv } from '../../src/sandbox/networks.ts'
import { type TestChainOptions, withAnvil } from './anvil.ts'

export type ExchangeChain = Anvil & {
  readonly contracts: ChainContracts
  readonly exchanges: Exchanges
  /** The settings of the chain for a process or for `loadConfig`. */
  readonly env: Readonly<Record<string, string>>
}

/** Starts anvil and sets it up. @param options by default, blocks are mined only by `evm_mine` */
export async function withExchanges(
  t: Test,
  options: TestChainOptions & { readonly network?: Network } = {},
): Promise<ExchangeChain> {
  const { network = 'ethereum', ...chain } = options
  const anvil = await withAnvil(t, { mining: 'call', ...chain })
  const setup = await setUpChain(anvil.url, network)
  const exchanges = exchangesOf(setup.added)
  if (exchanges === null) throw new Error('the packages of the exchanges are not installed')
  const env = chainEnv({ network, url: anvil.url, ...setup })
  return { ...anvil, contracts: setup.contracts, exchanges, env }
}
