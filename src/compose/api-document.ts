/** The OpenAPI document of the whole API, the sandbox routes included, made without a database and without a chain. */
import { loadConfig } from '../config.ts'
import { composeApi } from './api.ts'
import { composeKernel } from './kernel.ts'

/** Nothing listens there, and no route is called. */
const NO_DATABASE = 'postgres://nobody@127.0.0.1:1/none'

/** @param version as package.json has it */
export async function composeApiDocument(version: string): Promise<object> {
  const config = loadConfig({ DATABASE_URL: NO_DATABASE, LOG_LEVEL: 'fatal' })
  const kernel = composeKernel({ ...config, sandbox: true }, 'api')
  const app = await composeApi(kernel, version)
  const document = app.swagger()
  await app.close()
  await kernel.close()
  return document
}
