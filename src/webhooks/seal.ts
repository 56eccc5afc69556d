/** Seals the secrets of webhooks to the senders (https://age-encryption.org/v1): what the API sealed, it cannot open. */
import { Unavailable } from '../core/errors.ts'
import { sealTo } from '../keys/age.ts'
import type { Seal } from './secrets.ts'

/**
 * The sealed text is an age file in base64.
 *
 * @param recipient of the senders, accepted by `requireRecipient`; `null` while the operator has not set one
 */
export function createSeal(recipient: string | null): Seal {
  return async (plaintext) => {
    if (recipient === null) throw notConfigured()
    return Buffer.from(await sealTo([recipient], plaintext)).toString('base64')
  }
}

function notConfigured(): Unavailable {
  return new Unavailable(
    'webhooks_not_configured',
    'Webhooks are disabled: WEBHOOK_RECIPIENT is not set. Ask the operator to set it for the API, and to start a webhook sender.',
  )
}
