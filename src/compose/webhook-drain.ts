/** What sends the deliveries of a webhook: the keys that sign them, the connections, and what is recorded. */
import { createRequire } from 'node:module'
import { ConfigError } from '../config.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { recordOnce } from '../event-log/commit.ts'
import { openWith, parseIdentities } from '../keys/age.ts'
import { webhookAggregate } from '../webhooks/aggregate.ts'
import { createSafeAgents } from '../webhooks/connect-safely.ts'
import { createProxyAgents } from '../webhooks/connect-through-proxy.ts'
import type { DrainContext } from '../webhooks/drain-webhook.ts'
import { createLookUp } from '../webhooks/look-up.ts'
import { postDelivery } from '../webhooks/post.ts'
import { createIsAllowedAddress } from '../webhooks/public-address.ts'
import { readReceiver } from '../webhooks/receiver-of.ts'
import { MAX_ATTEMPTS } from '../webhooks/retry-schedule.ts'
import type { RunningDrains } from '../webhooks/running-drains.ts'
import { createSigningKeysOf, SecretUnusable } from '../webhooks/secrets.ts'
import type { Kernel } from './kernel.ts'

/** @throws ConfigError when the sender has no identity: it could not sign */
export async function composeSender(
  kernel: Kernel,
  running: RunningDrains,
  bodiesOf: DrainContext['bodiesOf'],
): Promise<DrainContext & { readonly close: () => void }> {
  const { config, pool, clock, leases, metrics } = kernel
  const { allowedNetworks, proxyUrl } = config.webhooks
  const isAllowed = createIsAllowedAddress(allowedNetworks)
  const lookUp = createLookUp({ hasOwnNetworks: allowedNetworks.length > 0 })
  const agents = proxyUrl === null ? createSafeAgents(isAllowed, lookUp) : createProxyAgents(proxyUrl, isAllowed)
  const userAgent = `Bursar/${version()}`
  const identities = await identitiesOf(kernel)
  return {
    leases,
    pool,
    running,
    random: Math.random,
    receiverOf: (webhookId) => readReceiver({ pool }, webhookId),
    keysOf: createSigningKeysOf({ pool, clock, open: (sealed) => openSecret(identities, sealed) }),
    bodiesOf,
    post: (...delivery) => postDelivery({ agents, userAgent }, ...delivery),
    disable: disabling(kernel),
    clock,
    onAttempts(attempts) {
      for (const { posted, delivery } of attempts) {
        metrics.time('bursar_webhook_attempt_duration_seconds', { outcome: posted.outcome }, posted.durationMs)
        if (posted.outcome !== 'delivered' && delivery.attempts + 1 >= MAX_ATTEMPTS)
          metrics.count('bursar_webhook_given_up_total', {})
      }
    },
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

async function identitiesOf({ config }: Kernel): Promise<readonly string[]> {
  const { identity } = config.webhooks
  if (identity === null)
    throw new ConfigError(['WEBHOOK_IDENTITY must be set for a webhook sender: create one with age-keygen'])
  return parseIdentities(identity, 'WEBHOOK_IDENTITY')
}

async function openSecret(identities: readonly string[], sealed: string): Promise<Uint8Array> {
  const opening = await openWith(identities, Buffer.from(sealed, 'base64'))
  if (opening.outcome === 'opened') return opening.plaintext
  throw new SecretUnusable(
    opening.outcome === 'damaged'
      ? 'the secret of the webhook is damaged: rotate it'
      : 'the secret of the webhook is encrypted to another identity than WEBHOOK_IDENTITY',
  )
}

/**
 * Never silent: the event is in the feed, and the operator's log says why. What a receiver did says nothing about a webhook
 * that was changed meanwhile, which may have another one: its next attempt decides.
 */
function disabling({ log, logger }: Kernel): DrainContext['disable'] {
  return async ({ webhookId, tenantId, version }, reason) => {
    const loaded = await log.load(webhookAggregate, webhookId)
    if (loaded.version !== version) return
    const metadata = { tenantId, actor: 'worker:webhook-sender' }
    const now = log.now()
    const disabled = decideOn(webhookAggregate, loaded, { type: 'DisableWebhook', reason, now }, { metadata, now })
    if (!(await recordOnce(log, disabled))) return
    logger.warn({ webhook_id: webhookId, tenant_id: tenantId, reason }, 'disabled a webhook')
  }
}

function version(): string {
  return (createRequire(import.meta.url)('../../package.json') as { version: string }).version
}
