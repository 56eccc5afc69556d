/** The identity of the sandbox's webhook sender, which its first start creates. Only the sender gets it. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createIdentity } from '../keys/age.ts'
import { createFileOnce } from '../keys/private-files.ts'

export type WebhookKeys = {
  /** For every process. */
  readonly env: Readonly<Record<string, string>>
  /** For the sender. */
  readonly senderEnv: Readonly<Record<string, string>>
}

/** Receivers on this machine are allowed: nothing else is on a developer's network of the sandbox. */
const LOOPBACK = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' }

export async function planWebhookKeys(dataDir: string): Promise<WebhookKeys> {
  const directory = join(dataDir, 'webhooks')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const file = join(directory, 'identity')
  const created = await createIdentity()
  await createFileOnce(file, `# recipient: ${created.recipient}\n${created.identity}\n`)
  const [, recipient = ''] = /^# recipient: (\S+)$/m.exec(await readFile(file, 'utf8')) ?? []
  return { env: { ...LOOPBACK, WEBHOOK_RECIPIENT: recipient }, senderEnv: { WEBHOOK_IDENTITY_FILE: file } }
}
