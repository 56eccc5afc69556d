/** The routes of webhooks. What an owner may choose depends on the public events of every capability. */
import { InvalidSetting, ValidationFailed } from '../core/errors.ts'
import { findLogged } from '../event-log/read-logged.ts'
import type { Catalogue } from '../feed/catalogue.ts'
import type { Routes } from '../http/request.ts'
import { RECIPIENT_RULE, requireRecipient } from '../keys/age.ts'
import { deliveryRoutes } from '../webhooks/delivery-routes.ts'
import { createManageWebhooks } from '../webhooks/manage-webhooks.ts'
import { createIsAllowedAddress } from '../webhooks/public-address.ts'
import { createDeliveryReads } from '../webhooks/read-deliveries.ts'
import { createReplayReads } from '../webhooks/read-replays.ts'
import { createWebhookReads } from '../webhooks/read-webhooks.ts'
import { createRequestReplay } from '../webhooks/request-replay.ts'
import { createRequireReadable, createRequireTerms, isAboutWallet } from '../webhooks/require-terms.ts'
import { webhookRoutes } from '../webhooks/routes.ts'
import { createSeal } from '../webhooks/seal.ts'
import { createSecretStore } from '../webhooks/secrets.ts'
import { createSendWaiting } from '../webhooks/send-waiting.ts'
import { createUntilChanged } from '../webhooks/terms.ts'
import type { ComposedApi } from './api-context.ts'

/** @throws InvalidSetting for a recipient with a wrong checksum */
export async function composeWebhookRoutes(
  {
    pool,
    log,
    newId,
    config,
    clock,
    accept,
    findWallet,
  }: Pick<ComposedApi, 'pool' | 'log' | 'newId' | 'config' | 'clock' | 'accept' | 'findWallet'>,
  { types }: Pick<Catalogue, 'types'>,
): Promise<Routes[]> {
  const { recipient, allowsHttp, allowedNetworks } = config.webhooks
  if (recipient !== null) await requireRecipient(recipient, 'WEBHOOK_RECIPIENT').catch(refuseSetting)
  const delivered = types.map(({ type, publisher }) => ({
    type,
    scope: publisher.scope,
    isAboutWallet: isAboutWallet(publisher),
  }))
  const requireReadable = createRequireReadable(delivered)
  const requireTerms = createRequireTerms({
    urlRules: { allowsHttp, isAllowedAddress: createIsAllowedAddress(allowedNetworks) },
    types: delivered,
    findWallet,
    requireReadable,
  })
  const secrets = createSecretStore({ pool, seal: createSeal(recipient) })
  const manage = createManageWebhooks({ log, accept, newId, requireTerms, requireReadable, secrets })
  const reads = createWebhookReads(pool)
  const replays = createReplayReads(pool)
  const deliveries = createDeliveryReads(pool)
  const requests = createRequestReplay({
    log,
    accept,
    newId,
    findEvent: (owner, name) => findLogged(pool, owner, name),
    countRunning: replays.countRunning,
    types: types.map(({ type }) => type),
    deliveries,
    requireReadable,
    clock,
  })
  return [
    webhookRoutes({
      manage,
      reads,
      sendWaiting: createSendWaiting(pool),
      untilChanged: createUntilChanged(pool),
      clock,
    }),
    deliveryRoutes({ webhooks: reads, deliveries, replays, requests }),
  ]
}

function refuseSetting(error: unknown): never {
  if (error instanceof ValidationFailed) throw new InvalidSetting('WEBHOOK_RECIPIENT', RECIPIENT_RULE)
  throw error
}
