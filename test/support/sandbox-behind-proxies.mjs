// The built sandbox, whose processes reach their database and nodes through the proxies of a test. Plain JavaScript: it
// is started repeatedly, and its start time is measured. PROXIES holds the ports as JSON: postgres, and each network.

import { join } from 'node:path'

/** @param {string} name of a built module */
const built = (name) => import(new URL(`../../dist/src/${name}.js`, import.meta.url).href)
const { loadConfig } = await built('compose/load-config')
const { openDataDir } = await built('sandbox/data-dir')
const { runSandbox } = await built('sandbox/run-sandbox')

const { PROXIES = '{}', ...env } = process.env
const { postgres, ...nodes } = JSON.parse(PROXIES)

/** @param {NodeJS.ProcessEnv} told the settings of the processes without the proxies */
function amend(told) {
  const database = new URL(told.DATABASE_URL ?? '')
  database.port = String(postgres)
  const urls = Object.entries(nodes).map(([network, port]) => [
    `${network.toUpperCase()}_RPC_URLS`,
    `http://127.0.0.1:${port}`,
  ])
  return { ...told, DATABASE_URL: database.href, ...Object.fromEntries(urls) }
}

const config = loadConfig(env)
await openDataDir({ directory: config.dataDir, reset: false })
const sandbox = await runSandbox({ config, env, stateFile: join(config.dataDir, 'sandbox.json'), amend })
await new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve)
})
await sandbox.stop()
process.exit(0)
