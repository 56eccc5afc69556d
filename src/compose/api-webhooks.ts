/** The routes of webhooks. What an owner may choose depends on the public events of every capability. */
import { InvalidSetting, ValidationFailed } from '../core/errors.ts'
import type { Catalogue } from '../feed/catalogue.ts'
import type { Routes } from '../http/request.ts'
import { RECIPIENT_RULE, requireRecipient } from '../keys/age.ts'
import { createManageWebhooks } from '../webhooks/manage-webhooks.ts'
import { createIsAllowedAddress } from '../webhooks/public-address.ts'
import { createWebhookReads } from '../webhooks/read-webhooks.ts'
import { createRequireTerms } from '../webhooks/require-terms.ts'
import { webhookRoutes } from '../webhooks/routes.ts'
import { createSeal } from '../webhooks/seal.ts'
import { createSecretStore } from '../webhooks/secrets.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'

/** @throws InvalidSetting for a recipient with a wrong checksum */
export async function composeWebhookRoutes(
  { pool, log, newId, config }: Pick<Kernel, 'pool' | 'log' | 'newId' | 'config'>,
  { accept, findWallet }: Pick<ApiParts, 'accept' | 'findWallet'>,
  { types }: Pick<Catalogue, 'types'>,
): Promise<Routes> {
  const { recipient, allowsHttp, allowedNetworks } = config.webhooks
  if (recipient !== null) await requireRecipient(recipient, 'WEBHOOK_RECIPIENT').catch(refuseSetting)
  const requireTerms = createRequireTerms({
    urlRules: { allowsHttp, isAllowedAddress: createIsAllowedAddress(allowedNetworks) },
    types: types.map(({ type, publisher: { scope } }) => ({ type, scope })),
    findWallet,
  })
  const secrets = createSecretStore({ pool, seal: createSeal(recipient) })
  const manage = createManageWebhooks({ log, accept, newId, requireTerms, secrets })
  return webhookRoutes({ manage, reads: createWebhookReads(pool) })
}

function refuseSetting(error: unknown): never {
  if (error instanceof ValidationFailed) throw new InvalidSetting('WEBHOOK_RECIPIENT', RECIPIENT_RULE)
  throw error
}
