/** Limits of API keys in requests and responses: amounts are decimal strings of the asset, and in US dollars. */
import { type Static, Type } from '@sinclair/typebox'
import type { Asset } from '../core/assets.ts'
import { type ErrorItem, ValidationFailed } from '../core/errors.ts'
import { type AskedLimit, DAY_SECONDS } from '../core/key-limits.ts'
import { parseAmount } from '../core/money.ts'
import { LONGEST_WINDOW_SECONDS, SHORTEST_WINDOW_SECONDS, USD_DECIMALS } from '../core/spend-limits.ts'
import { named } from '../http/components.ts'
import { amountSchema, closedObject, environmentSchema, idSchema, instant, nullable } from '../http/schemas.ts'

const MAX_ASKED = 20

const windowSchema = Type.Integer({
  description:
    'The length of the window in seconds, a multiple of 60. It slides: no interval of this length has more than the limit.',
  minimum: SHORTEST_WINDOW_SECONDS,
  maximum: LONGEST_WINDOW_SECONDS,
  multipleOf: 60,
  examples: [86_400],
})
const about = {
  asset_id: Type.Optional(
    Type.String({
      maxLength: 128,
      description: 'The asset, by its id from `GET /v1/assets`, that `amount` is of.',
      examples: ['eip155:1/slip44:60'],
    }),
  ),
  amount: Type.Optional({
    ...amountSchema,
    description: 'How much of the asset may leave wallets in the window, fees included.',
  }),
  amount_usd: Type.Optional({
    ...amountSchema,
    description:
      'Instead of an asset: how much of all assets, in US dollars at the price of the request. What has no price is refused.',
    examples: ['500'],
  }),
  transactions: Type.Optional(
    Type.Integer({
      description: 'Instead of an amount: how many transactions.',
      minimum: 0,
      maximum: 1_000_000_000,
      examples: [100],
    }),
  ),
  requests_per_day: Type.Optional(
    Type.Integer({
      description:
        'Instead of an amount: how many requests of a day (UTC, by the clock of the database), whatever their outcome. `window_seconds` is 86,400 and can be omitted.',
      minimum: 1,
      maximum: 1_000_000_000,
      examples: [10_000],
    }),
  ),
}
const limit = { ...about, window_seconds: windowSchema }

export const askedLimitsSchema = Type.Array(closedObject({ ...about, window_seconds: Type.Optional(windowSchema) }), {
  description:
    'What may be done with the API key, besides the limits of the API key that creates it, on which it counts too. Each limit has `asset_id` and ' +
    '`amount`, or `amount_usd`, or `transactions`, each with `window_seconds`; or it has `requests_per_day`. As soon as amounts are limited, assets that no limit is about cannot be spent.',
  examples: [[{ asset_id: 'eip155:1/slip44:60', amount: '1', window_seconds: 86_400 }]],
  maxItems: MAX_ASKED,
})

const limitFields = {
  ...limit,
  inherited: Type.Boolean({
    description: 'Whether it is a limit of the API key that created this one: both count on it.',
    examples: [false],
  }),
}
const limitSchema = named('ApiKeyLimit', Type.Object(limitFields))

export const limitsSchema = Type.Array(limitSchema, {
  description: 'What may be done with the API key in windows of time. Empty if it has no limits.',
})

const leftSchema = Type.Optional(
  Type.String({
    description:
      'What is left of the limit now, in its unit. 0 if more was spent. Of requests, what processes of the service have not taken in advance: each takes a hundredth at a time. Missing in lists.',
    examples: ['0.08'],
  }),
)

/** With what is left of each. */
export const currentLimitsSchema = Type.Array(
  named(
    'ApiKeyCurrentLimit',
    Type.Object({
      ...limitFields,
      left: leftSchema,
      available_at: Type.Optional(
        nullable(
          instant(
            'When something is left again, if nothing else is spent until then. Null while something is left. Missing in lists.',
          ),
        ),
      ),
    }),
  ),
  { description: limitsSchema.description ?? '' },
)

const unitSchema = Type.String({
  description: 'What the amounts are of: a symbol, `USD`, `transactions` or `requests`.',
  examples: ['ETH'],
})
const availableAtSchema = nullable(
  instant(
    'When the request would have fitted, if nothing else was spent until then. Null if it needs more than the limit.',
  ),
)

export const limitReachedSchema = named(
  'ApiKeyLimitReached',
  Type.Object({
    key_id: idSchema('key', 'The id of the API key of the request.'),
    environment: environmentSchema,
    limit: limitSchema,
    left: Type.String({ description: 'What was left of the limit.', examples: ['0.08'] }),
    needed: Type.String({ description: 'What the request needed.', examples: ['0.11'] }),
    unit: unitSchema,
    available_at: availableAtSchema,
    reached_at: instant('When the request was refused.'),
  }),
)

/** Finds an asset that the tenant may name, by its id. */
export type AssetOf = (assetId: string) => Promise<Pick<Asset, 'assetId' | 'symbol' | 'decimals'> | null>

/** @throws ValidationFailed with every limit that is none */
export async function readLimits(
  asked: Static<typeof askedLimitsSchema>,
  assetOf: AssetOf,
): Promise<readonly AskedLimit[]> {
  const items: ErrorItem[] = []
  const read = await Promise.all(
    asked.map((one, n) =>
      readLimit(one, `limits[${n}]`, assetOf).catch((error: unknown) => {
        if (!(error instanceof ValidationFailed)) throw error
        items.push(...error.items)
        return null
      }),
    ),
  )
  if (items.length > 0) throw new ValidationFailed(items)
  return read.filter((one) => one !== null)
}

async function readLimit(
  asked: Static<typeof askedLimitsSchema>[number],
  field: string,
  assetOf: AssetOf,
): Promise<AskedLimit> {
  const { asset_id, amount, amount_usd, transactions, requests_per_day: requests } = asked
  const given = [asset_id ?? amount, amount_usd, transactions, requests].filter((part) => part !== undefined)
  const isHalf = (asset_id === undefined) !== (amount === undefined)
  if (given.length !== 1 || isHalf) {
    const rule = `${field} must have asset_id and amount, or amount_usd, or transactions, or requests_per_day.`
    throw ValidationFailed.field(field, 'invalid', rule)
  }
  const windowSeconds = windowOf(asked, field)
  if (requests !== undefined) return { of: 'requests', amount: `${requests}`, windowSeconds: DAY_SECONDS }
  if (transactions !== undefined) return { of: 'transactions', amount: `${transactions}`, windowSeconds }
  if (amount_usd !== undefined) {
    const usd = parseAmount(amount_usd, USD_DECIMALS, `${field}.amount_usd`)
    return { of: 'usd', amount: usd.toString(), windowSeconds }
  }
  const asset = await assetOf(asset_id ?? '')
  if (asset === null) {
    const rule = `${field}.asset_id must be the id of an asset of the environment: see GET /v1/assets.`
    throw ValidationFailed.field(`${field}.asset_id`, 'unknown_asset', rule)
  }
  const { assetId, symbol, decimals } = asset
  const units = parseAmount(amount ?? '', decimals, `${field}.amount`).toString()
  return { of: 'asset', assetId, symbol, decimals, amount: units, windowSeconds }
}

function windowOf(
  { window_seconds: seconds, requests_per_day: requests }: Static<typeof askedLimitsSchema>[number],
  field: string,
): number {
  if (seconds !== undefined && (requests === undefined || seconds === DAY_SECONDS)) return seconds
  if (seconds === undefined && requests !== undefined) return DAY_SECONDS
  const rule =
    requests === undefined ? 'is required: the length of the window in seconds.' : 'of requests_per_day must be 86400.'
  throw ValidationFailed.field(`${field}.window_seconds`, 'invalid', `${field}.window_seconds ${rule}`)
}
