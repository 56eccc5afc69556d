/**
 * One local chain as a supervised service: whenever its node starts, its contracts and the faucet's funds are set up,
 * and its blocks are mined and saved from then on.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Network } from '../core/networks.ts'
import { type Anvil, startAnvil } from './anvil.ts'
import type { ChainSetup } from './chain-setup.ts'
import { createStateKeeper, stateFiles } from './chain-state.ts'
import { type MiningDriver, mineWhenNeeded } from './mining.ts'
import { keptPort } from './ports.ts'
import type { SetUp } from './set-up-process.ts'
import type { Running } from './supervisor.ts'

/**
 * A sandbox must not grow with its work. States serve reads and reorgs near the head; for an older one the service reads
 * the newest state. Transactions serve a follower that was away: it keeps as many block hashes, and this many blocks are
 * 8 minutes of a busy chain and hours of an idle one. At 100 transfers a second they take 0.3 GB.
 */
const STATES_KEPT = 32
const BLOCKS_KEPT = 512

export type ChainService = {
  readonly start: () => Promise<Running>
  readonly url: () => string
  readonly setup: () => ChainSetup
  /** Funds the faucet now and after every restart of the node, which may have lost its last blocks. */
  readonly fundFaucet: (address: string) => Promise<void>
}

export type ChainPlan = {
  readonly network: Network
  readonly chainId: number
  readonly directory: string
  /** The rules of the chain. Null: the newest that the node has. */
  readonly hardfork: string | null
  readonly setUp: Pick<SetUp, 'setUpChain' | 'fundFaucet'>
}

export async function createChainService(chain: ChainPlan): Promise<ChainService> {
  await mkdir(chain.directory, { recursive: true, mode: 0o700 })
  const port = await keptPort(join(chain.directory, 'port'))
  const url = `http://127.0.0.1:${port}`
  const { setUpChain, fundFaucet } = chain.setUp
  let setup: ChainSetup | null = null
  let faucet: string | null = null

  function known(): ChainSetup {
    if (setup === null) throw new Error(`the chain ${chain.network} has not started`)
    return setup
  }

  return {
    url: () => url,
    setup: known,
    async start() {
      const { chainId, directory, hardfork } = chain
      const kept = { keepState: true, statesKept: STATES_KEPT, blocksKept: BLOCKS_KEPT }
      const extraArgs = hardfork === null ? [] : ['--hardfork', hardfork]
      const anvil = await startAnvil({ chainId, port, directory, mining: 'call', ...kept, extraArgs })
      setup = await setUpChain(url, chain.network)
      if (faucet !== null) await fundFaucet(url, setup.contracts, faucet)
      return driven(anvil, mineWhenNeeded(url, createStateKeeper(url, stateFiles(directory))))
    },
    async fundFaucet(address) {
      faucet = address
      await fundFaucet(url, known().contracts, address)
    },
  }
}

/** Mining ends with the node, or before it when it is stopped, so that no block changes the state being written. */
function driven(anvil: Anvil, driver: MiningDriver): Anvil {
  const exited = anvil.exited.then(async (exit) => {
    await driver.stop()
    return exit
  })
  return {
    ...anvil,
    exited,
    async stop() {
      await driver.stop()
      await anvil.stop()
    },
  }
}
