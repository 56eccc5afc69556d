/** The API process: loads settings, builds the parts, listens, and shuts down in order. */
import { createRequire } from 'node:module'
import { exposedPaths } from '../core/exposure.ts'
import { type AddToApi, composeApi } from './api.ts'
import { readinessChecks } from './readiness.ts'
import { runProcess } from './run-process.ts'

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

/** @param add what the sandbox adds; production adds nothing */
export function runApi(env: NodeJS.ProcessEnv, add?: AddToApi): Promise<void> {
  return runProcess(
    'api',
    async (kernel) => {
      const { app, problem } = await composeApi(kernel, version, add)
      const address = await app.listen(kernel.config.api)
      kernel.logger.info({ address }, 'listening')
      const { api, http } = kernel.config
      const exposed = exposedPaths({
        host: api.host,
        trustedProxies: http.trustedProxies,
        serveMetrics: http.serveMetrics,
      })
      if (exposed !== null) {
        kernel.logger.warn(
          { host: api.host, without_key: exposed },
          'the API is reachable without TLS: listen on 127.0.0.1, or put a proxy with TLS in front and name it in TRUSTED_PROXIES',
        )
      }
      return { drain: () => app.close(), checks: readinessChecks(kernel), problem }
    },
    env,
  )
}
