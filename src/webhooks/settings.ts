/** The settings of webhooks: which receivers are allowed, and the keys that protect their secrets. */
import { isIP } from 'node:net'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { declareSettings } from '../config/declare-settings.ts'
import { ruleOf } from '../config/read-setting.ts'
import { list, text } from '../config/schema-kinds.ts'
import { ConfigError } from '../config.ts'

const WEBHOOK_SETTINGS = {
  WEBHOOK_RECIPIENT: text(
    '^age1[02-9ac-hj-np-z]{58}$',
    'must be an age X25519 recipient: age1 and 58 characters, as age-keygen prints it',
    {
      description:
        'API only: the age recipient of `WEBHOOK_IDENTITY`, which the secrets of webhooks are encrypted to. If it is not set, webhooks cannot be created.',
    },
  ),
  WEBHOOK_IDENTITY: text(
    'AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}',
    'must be an age identity, as age-keygen prints it: AGE-SECRET-KEY-1 and 58 characters',
    {
      description:
        'Webhook senders only: the age identity that decrypts the secrets of webhooks, one for each line. Only with it can deliveries be signed.',
      'x-secret': true,
    },
  ),
  WEBHOOK_ALLOW_HTTP: Type.Boolean({
    default: false,
    description: 'Whether webhooks can have `http://` URLs. Set it for the API and the webhook senders.',
  }),
  WEBHOOK_ALLOWED_NETWORKS: list(
    '^[0-9A-Fa-f:.]+/[0-9]{1,3}$',
    'must be a comma-separated list of networks, such as 10.1.0.0/16',
    {
      description:
        'Networks that webhooks can be sent to although they are not public. By default there are none. Set it for the API and the webhook senders.',
    },
  ),
  WEBHOOK_PROXY_URL: text('^https?://[^/]+/?$', 'must be a URL such as http://proxy:4750', {
    description:
      'Webhook senders only: an HTTP proxy with CONNECT, such as smokescreen, for all deliveries. The proxy then checks the addresses that names lead to.',
  }),
}

type WebhookInput = Static<TObject<typeof WEBHOOK_SETTINGS>>

type WebhookConfig = {
  /** The age recipient of the senders; null while no webhook can be created. */
  readonly recipient: string | null
  /** Age identities of a sender, one for each line. */
  readonly identity: string | null
  readonly allowsHttp: boolean
  /** CIDR ranges. */
  readonly allowedNetworks: readonly string[]
  readonly proxyUrl: string | null
}

function webhookConfig(input: WebhookInput): WebhookConfig {
  return {
    recipient: input.WEBHOOK_RECIPIENT ?? null,
    identity: input.WEBHOOK_IDENTITY ?? null,
    allowsHttp: input.WEBHOOK_ALLOW_HTTP,
    allowedNetworks: input.WEBHOOK_ALLOWED_NETWORKS ?? [],
    proxyUrl: input.WEBHOOK_PROXY_URL ?? null,
  }
}

/** @throws ConfigError when a sender has no identity: it could not sign */
export function requireIdentity({ identity }: WebhookConfig): string {
  if (identity !== null) return identity
  throw new ConfigError(['WEBHOOK_IDENTITY must be set for a webhook sender: create one with age-keygen'])
}

/** Networks and URLs of the right form that do not exist. */
function webhookProblems(input: Partial<WebhookInput>): string[] {
  const { WEBHOOK_ALLOWED_NETWORKS: networks = [], WEBHOOK_PROXY_URL: proxy } = input
  const problem = (name: keyof typeof WEBHOOK_SETTINGS, given: string) =>
    `${name} ${ruleOf(WEBHOOK_SETTINGS[name])}, not ${JSON.stringify(given)}`
  return [
    ...networks.filter((network) => !isNetwork(network)).map((network) => problem('WEBHOOK_ALLOWED_NETWORKS', network)),
    ...(proxy === undefined || URL.canParse(proxy) ? [] : [problem('WEBHOOK_PROXY_URL', proxy)]),
  ]
}

function isNetwork(text: string): boolean {
  const [address = '', bits] = text.split('/')
  return isIP(address) !== 0 && Number(bits) <= (isIP(address) === 6 ? 128 : 32)
}

export const webhookSettings = {
  webhooks: declareSettings({
    group: 'last',
    settings: WEBHOOK_SETTINGS,
    read: webhookConfig,
    problems: webhookProblems,
  }),
}

declare module '../config.ts' {
  interface CapabilityConfig {
    readonly webhooks: WebhookConfig
  }
}
