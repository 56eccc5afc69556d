// The built sandbox on another node than anvil. LOCAL_NODE is JSON: `client` is geth or hardhat, `program` the path of the
// binary (geth) or of the folder with the package and its Node (hardhat), `fork` the rules of geth's chains. With `crossing` a fork
// comes on ethereum, then one that nobody has announced on binance, and polygon has none ahead. On geth nobody has deployed the factory of collections on polygon.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { answerCheats } from './cheats.mjs'
import { startGeth } from './geth.mjs'
import { startHardhat } from './hardhat.mjs'
import { hideNextFork } from './quiet-config.mjs'

/** From the start of a node to its fork: enough for the start of a sandbox, which takes a quarter of it on two cores. */
const CROSSING_SECONDS = 90

/** @param {string} name of a built module */
const built = (name) => import(new URL(`../../dist/src/${name}.js`, import.meta.url).href)
const { loadConfig } = await built('compose/load-config')
const { openDataDir } = await built('sandbox/data-dir')
const { runSandbox } = await built('sandbox/run-sandbox')
const { FACTORY_ADDRESS } = await built('nft/contracts/collection')
const { keptPort } = await built('sandbox/ports')

const { LOCAL_NODE = '{}', ...env } = process.env
/** @type {{ client: 'geth' | 'hardhat', program: string, fork?: string }} */
const node = JSON.parse(LOCAL_NODE)
const startNode = node.client === 'geth' ? startGeth : startHardhat

/**
 * As src/sandbox/chain-service.ts, with a node that makes its own blocks and keeps its own state.
 *
 * @param {import('../../src/sandbox/chain-service.ts').ChainPlan} plan
 */
async function chainService({ network, chainId, directory, setUp }) {
  await mkdir(directory, { recursive: true })
  const port = await keptPort(join(directory, 'port'))
  const url = `http://127.0.0.1:${port}`
  const isFurnished = network !== 'polygon' || node.client !== 'geth'
  const cheatsUrl = await answerCheats(url, node.client, isFurnished ? [] : [FACTORY_ADDRESS])
  const isCrossing = node.fork === 'crossing'
  const fork = isCrossing && network === 'polygon' ? 'osaka' : (node.fork ?? 'osaka')
  const isSilent = isCrossing && network === 'binance'
  const forkAfterSeconds = isSilent ? 2 * CROSSING_SECONDS : CROSSING_SECONDS
  const shownUrl = isSilent ? await hideNextFork(url) : url
  /** @type {import('../../src/sandbox/chain-setup.ts').ChainSetup | null} */
  let setup = null
  /** @type {string | null} */
  let faucet = null
  const known = () => {
    if (setup === null) throw new Error(`the chain ${network} has not started`)
    return setup
  }
  return {
    url: () => shownUrl,
    setup: known,
    async start() {
      const running = await startNode({ ...node, fork, forkAfterSeconds, chainId, port, directory })
      setup = await setUp.setUpChain(cheatsUrl, network)
      if (faucet !== null) await setUp.fundFaucet(cheatsUrl, known().contracts, faucet)
      return running
    },
    /** @param {string} address */
    async fundFaucet(address) {
      faucet = address
      await setUp.fundFaucet(cheatsUrl, known().contracts, address)
    },
  }
}

const config = loadConfig(env)
await openDataDir({ directory: config.dataDir, reset: false })
const sandbox = await runSandbox({ config, env, stateFile: join(config.dataDir, 'sandbox.json'), chainService })
await new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve)
})
await sandbox.stop()
process.exit(0)
