/** The first API key of the sandbox: that of the last run while it is valid, otherwise a new one. */
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createApiKeyRows } from '../access/api-key-rows.ts'
import { createAuthenticator } from '../access/authenticate.ts'
import { createIssueApiKey } from '../access/issue-api-key.ts'
import type { Kernel } from '../compose/kernel.ts'
import { ALL_SCOPES } from '../core/scopes.ts'

/** The tenant of the example requests. */
const DEMO_TENANT = 'demo'

/** Returns the key. It is stored beside the state file, mode 0600: the service only has its digest. */
export async function ensureApiKey(kernel: Kernel, stateFile: string): Promise<string> {
  const { pool, clock, catalogue } = kernel
  const file = join(dirname(stateFile), 'api-key')
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim()
  const { verify } = createAuthenticator({ keys: createApiKeyRows(pool), clock, timer: clock })
  if (kept !== '' && (await verify(kept)) !== null) return kept
  const issued = await createIssueApiKey(kernel)(
    {
      tenantId: DEMO_TENANT,
      environment: 'mainnet',
      label: 'sandbox',
      scopes: [ALL_SCOPES, ...Object.keys(catalogue.scopes)],
    },
    { actor: 'operator', correlationId: randomUUID() },
  )
  await writeFile(file, `${issued.token}\n`, { mode: 0o600 })
  return issued.token
}
