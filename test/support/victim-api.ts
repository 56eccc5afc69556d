/** A separate process of the built API beside a service in the test's process, for a test that kills it. */
import type { Test } from 'tap'
import { freePort } from '../../src/sandbox/ports.ts'
import { eventually } from './sandbox-eventually.ts'
import { type ApiClient, createApiClient } from './service-api.ts'
import type { LocalService } from './service-local.ts'
import { prepareVictim, type Victim } from './victims.ts'

export type VictimApi = { readonly api: ApiClient; readonly victim: Victim; readonly baseUrl: string }

/** @param settings in place of those of the service */
export async function startVictimApi(
  t: Test,
  service: Pick<LocalService, 'urlAs' | 'env' | 'apiKey'>,
  settings: Readonly<Record<string, string>> = {},
): Promise<VictimApi> {
  const port = await freePort()
  const own = { DATABASE_URL: service.urlAs('api'), HOST: '127.0.0.1', PORT: String(port) }
  const victim = prepareVictim('api', { ...service.env, ...own, ...settings })
  t.after(victim.kill)
  await victim.start()
  const baseUrl = `http://127.0.0.1:${port}`
  const api = createApiClient({ baseUrl, apiKey: service.apiKey })
  await eventually(async () => (await api.once({ path: '/healthz' })).status === 200)
  return { api, victim, baseUrl }
}
