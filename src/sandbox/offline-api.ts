/** The whole API, including the sandbox routes, without a database or a chain: enough to read its document. */

import { composeApi } from '../compose/api.ts'
import { composeKernel } from '../compose/kernel.ts'
import { loadConfig } from '../compose/load-config.ts'
import type { App } from '../http/request.ts'
import { addFaucet } from './faucet/add-faucet.ts'

/** Nothing listens there. */
const NO_DATABASE = 'postgres://nobody@127.0.0.1:1/none'

/** @param version from package.json */
export async function composeOfflineApi(version: string): Promise<{ app: App; close: () => Promise<void> }> {
  const config = loadConfig({ DATABASE_URL: NO_DATABASE, LOG_LEVEL: 'fatal' })
  const kernel = composeKernel({ ...config, sandbox: true }, 'api')
  const { app } = await composeApi(kernel, version, addFaucet)
  return {
    app,
    async close() {
      await app.close()
      await kernel.close()
    },
  }
}
