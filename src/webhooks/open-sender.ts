/** What sends the deliveries of a webhook: the keys that sign them, the connections, and what is recorded. */
import { createRequire } from 'node:module'
import type { Context } from '../context.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { recordOnce } from '../event-log/commit.ts'
import { openWith, parseIdentities } from '../keys/age.ts'
import { webhookAggregate } from './aggregate.ts'
import { createSafeAgents } from './connect-safely.ts'
import { createProxyAgents } from './connect-through-proxy.ts'
import type { DrainContext } from './drain-webhook.ts'
import { createLookUp } from './look-up.ts'
import { postDelivery } from './post.ts'
import { createIsAllowedAddress } from './public-address.ts'
import { readReceiver } from './receiver-of.ts'
import { MAX_ATTEMPTS } from './retry-schedule.ts'
import type { RunningDrains } from './running-drains.ts'
import { createSigningKeysOf, SecretUnusable } from './secrets.ts'
import { requireIdentity } from './settings.ts'

/** @throws ConfigError when the sender has no identity: it could not sign */
export async function openSender(
  ctx: Context,
  running: RunningDrains,
  bodiesOf: DrainContext['bodiesOf'],
): Promise<DrainContext & { readonly close: () => void }> {
  const { config, pool, clock, leases, metrics } = ctx
  const { allowedNetworks, proxyUrl } = config.webhooks
  const isAllowed = createIsAllowedAddress(allowedNetworks)
  const lookUp = createLookUp({ hasOwnNetworks: allowedNetworks.length > 0 })
  const agents = proxyUrl === null ? createSafeAgents(isAllowed, lookUp) : createProxyAgents(proxyUrl, isAllowed)
  const userAgent = `Bursar/${version()}`
  const identities = await parseIdentities(requireIdentity(config.webhooks), 'WEBHOOK_IDENTITY')
  return {
    leases,
    pool,
    running,
    random: Math.random,
    receiverOf: (webhookId) => readReceiver({ pool }, webhookId),
    keysOf: createSigningKeysOf({ pool, clock, open: (sealed) => openSecret(identities, sealed) }),
    bodiesOf,
    post: (...delivery) => postDelivery({ agents, userAgent }, ...delivery),
    disable: disabling(ctx),
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
function disabling({ log, logger }: Pick<Context, 'log' | 'logger'>): DrainContext['disable'] {
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
