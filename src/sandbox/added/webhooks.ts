/** The identity of the sandbox's webhook sender, which its first start creates. Only the sender gets it. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createIdentity } from '../../keys/age.ts'
import { createFileOnce } from '../../keys/private-files.ts'
import type { Addition } from '../addition.ts'

/** Receivers on this machine are allowed: nothing else is on a developer's network of the sandbox. */
const LOOPBACK = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' }

export const webhooks: Addition = {
  async settings({ dataDir }) {
    const directory = join(dataDir, 'webhooks')
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const file = join(directory, 'identity')
    const created = await createIdentity()
    await createFileOnce(file, `# recipient: ${created.recipient}\n${created.identity}\n`)
    const [, recipient = ''] = /^# recipient: (\S+)$/m.exec(await readFile(file, 'utf8')) ?? []
    return {
      env: { ...LOOPBACK, WEBHOOK_RECIPIENT: recipient },
      secrets: { WEBHOOK_IDENTITY: { WEBHOOK_IDENTITY_FILE: file } },
    }
  },
  listening: (baseUrl, apiKey) => `
To receive them as a webhook, paste this into a shell in the directory of Bursar:

  SECRET=$(curl -s ${baseUrl}/v1/webhooks -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\
    -d '{"url":"http://127.0.0.1:9000/"}' | sed -n 's/.*"secret":"\\([^"]*\\)".*/\\1/p')
  npm run bursar -- webhooks listen --port 9000 --secret $SECRET
`,
}
