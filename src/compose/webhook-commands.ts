/** The commands of webhooks that need no database. */
import { once } from 'node:events'
import type { CliCommand } from '../cli/command.ts'
import { listenCommand } from '../webhooks/listen-command.ts'

export function composeWebhookCommands(): readonly CliCommand[] {
  return [
    listenCommand({
      clock: Date.now,
      untilStopped: async () => void (await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])),
    }),
  ]
}
