/** The API process: loads settings, builds the parts, listens, and shuts down in order. */
import { createRequire } from 'node:module'
import { composeApi } from './compose/api.ts'
import { readinessChecks } from './compose/readiness.ts'
import { runProcess } from './compose/run-process.ts'

const { version } = createRequire(import.meta.url)('../package.json') as { version: string }

await runProcess(
  'api',
  async (kernel) => {
    const app = await composeApi(kernel, version)
    const address = await app.listen(kernel.config.api)
    kernel.logger.info({ address }, 'listening')
    return { drain: () => app.close(), checks: readinessChecks(kernel) }
  },
  process.env,
)
