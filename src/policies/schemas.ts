/** The schema of a policy in requests. Its types are those of `sent-policy.ts`. */
import { Type } from '@sinclair/typebox'
import { NETWORKS } from '../core/networks.ts'
import {
  ACTIONS,
  DAYS,
  EFFECTS,
  MAX_ADDRESSES,
  MAX_ITEMS,
  MAX_LISTS,
  MAX_RULES,
  OWN_WALLETS,
  PERS,
} from '../core/policy.ts'
import { LONGEST_WINDOW_SECONDS, SHORTEST_WINDOW_SECONDS } from '../core/spend-limits.ts'
import { named } from '../http/components.ts'
import { addressSchema, amountSchema, closedObject, oneOf, text } from '../http/schemas.ts'

const NAME = '^[a-z][a-z0-9_-]{0,63}$'
const nameSchema = (description: string, example: string) =>
  Type.String({
    description,
    pattern: NAME,
    maxLength: 64,
    examples: [example],
    'x-rule': 'must be 1 to 64 lower-case letters, digits, "_" and "-", beginning with a letter',
    'x-code': 'invalid_format',
  })

/** Either `in` or `not_in`. */
function among(description: string, example: string, maxLength = 128) {
  const items = (held: string) =>
    Type.Optional(
      Type.Array(Type.String({ maxLength, minLength: 1 }), {
        maxItems: MAX_ITEMS,
        description: held,
        examples: [[example]],
      }),
    )
  return Type.Optional(
    closedObject(
      { in: items('It is one of these.'), not_in: items('It is none of these.') },
      { description: `${description} Send either \`in\` or \`not_in\`.` },
    ),
  )
}

const bounds = {
  gte: Type.Optional({ ...amountSchema, description: 'At least this much.' }),
  lt: Type.Optional({ ...amountSchema, description: 'Less than this.' }),
}
const bps = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, description, examples: [50] }))
const chosen = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Optional(Type.Array(oneOf(values), { minItems: 1, maxItems: values.length, description }))
const clock = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 5, description, examples: [example] }))

const timeSchema = closedObject(
  {
    zone: Type.String({ maxLength: 64, description: 'The IANA time zone.', examples: ['Europe/Zurich'] }),
    days: chosen(DAYS, 'Days of the week.'),
    month_days: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 31 }), {
        minItems: 1,
        maxItems: 31,
        description: 'Days of the month.',
      }),
    ),
    from: clock('The first minute of the window.', '09:00'),
    to: clock('The first minute after it. If it is not later than `from`, the window ends on the next day.', '17:30'),
  },
  { description: 'When the request is made, by the clocks of a time zone.' },
)

const typedDataSchema = closedObject(
  {
    primary_types: among('Names of the primary type.', 'Permit'),
    verifying_contracts: among('Addresses, or names of lists.', 'known_contracts'),
    chain_ids: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1 }), {
        minItems: 1,
        maxItems: 32,
        description: 'Ids of the chains of the domain.',
        examples: [[1]],
      }),
    ),
  },
  { description: 'Typed data (EIP-712) that is signed.' },
)

const matchSchema = closedObject(
  {
    actions: chosen(
      ACTIONS,
      'What the request does. It has each action that describes it: a batch is also a transfer.',
    ),
    networks: chosen(NETWORKS, 'The network of the wallet.'),
    wallets: among('Ids of wallets.', 'wal_0198c0de-7c3e-7b52-8d10-0f6c2f1d8a11'),
    wallet_tags: among('Tags of wallets.', 'hot'),
    api_keys: among('Ids of API keys.', 'key_0198c0de-7c3e-7b52-8d10-0f6c2f1d8a11'),
    assets: among('Ids of the assets that move.', 'eip155:1/slip44:60'),
    buys: among('Ids of the assets that a swap buys.', 'eip155:1/slip44:60'),
    recipients: among(`Addresses, names of lists, or \`${OWN_WALLETS}\`.`, OWN_WALLETS),
    contracts: among('Called contracts: addresses, or names of lists.', 'known_contracts'),
    spenders: among('Who may spend: addresses, or names of lists.', 'known_spenders'),
    methods: among('Functions: signatures or selectors.', 'transfer(address,uint256)', 512),
    typed_data: Type.Optional(typedDataSchema),
    amount: Type.Optional(
      closedObject(
        {
          asset_id: Type.String({
            maxLength: 128,
            description: 'The id of the asset.',
            examples: ['eip155:1/slip44:60'],
          }),
          ...bounds,
        },
        { description: 'What the request moves of an asset in all.' },
      ),
    ),
    amount_usd: Type.Optional(closedObject(bounds, { description: 'What the request moves in all, in US dollars.' })),
    unlimited: Type.Optional(
      Type.Boolean({
        description: 'Whether what can be moved has no bound, such as an unlimited allowance.',
        examples: [true],
      }),
    ),
    slippage_bps: Type.Optional(
      closedObject(
        { gte: bps('At least this much.'), lt: bps('Less than this.') },
        { description: 'What a swap may give less than its quote, in hundredths of a percent.' },
      ),
    ),
    time: Type.Optional(timeSchema),
  },
  { description: 'All conditions must hold. Without one, the rule is about every request.' },
)

const limitSchema = closedObject(
  {
    asset_id: Type.Optional(
      Type.String({ maxLength: 128, description: 'The asset of `amount`.', examples: ['eip155:1/slip44:60'] }),
    ),
    amount: Type.Optional({ ...amountSchema, description: 'How much of the asset in each window, with fees.' }),
    amount_usd: Type.Optional({
      ...amountSchema,
      description: 'Instead: US dollars of all assets, with fees.',
      examples: ['5000'],
    }),
    count: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000_000,
        description: 'Instead: how many transactions.',
        examples: [100],
      }),
    ),
    window_seconds: Type.Integer({
      minimum: SHORTEST_WINDOW_SECONDS,
      maximum: LONGEST_WINDOW_SECONDS,
      multipleOf: 60,
      description: 'The length of the window. It slides: no interval of this length has more than the limit.',
      examples: [86_400],
    }),
    per: Type.Optional(
      oneOf(PERS, { description: 'What has a limit of its own. The default is `tenant`.', examples: ['wallet'] }),
    ),
  },
  { description: 'Of a rule with the effect `limit`: `asset_id` and `amount`, or `amount_usd`, or `count`.' },
)

const approvalSchema = closedObject(
  {
    group: nameSchema('The group of approvers.', 'treasurers'),
    quorum: Type.Integer({ minimum: 1, maximum: 20, description: 'How many of them must approve.', examples: [2] }),
    expires_in_seconds: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 604_800, description: 'The default is a day.', examples: [86_400] }),
    ),
  },
  { description: 'Who must approve. A policy that asks for approvals can be tested, and not published yet.' },
)

export const ruleSchema = named(
  'PolicyRule',
  closedObject({
    id: nameSchema('The id of the rule: refusals name it.', 'daily-cap'),
    description: Type.Optional(
      text(256, { description: 'For people.', examples: ['Our hot wallets spend 5,000 dollars a day.'] }),
    ),
    effect: oneOf(EFFECTS, { description: 'What the rule does with requests that match.', examples: ['limit'] }),
    match: Type.Optional(matchSchema),
    limit: Type.Optional(limitSchema),
    on_unknown_price: Type.Optional(
      oneOf(['deny', 'require_approval'], {
        description: 'What happens if the rule compares US dollars and a price is not known. The default is `deny`.',
        examples: ['deny'],
      }),
    ),
    approval: Type.Optional(approvalSchema),
  }),
)

export const policyBody = named(
  'Policy',
  closedObject({
    default: oneOf(['allow', 'deny'], {
      description: 'What happens with a request that no rule is about.',
      examples: ['allow'],
    }),
    price_max_age_seconds: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: 604_800,
        description: 'An older price counts as unknown. The default is 25 hours.',
        examples: [90_000],
      }),
    ),
    lists: Type.Optional(
      Type.Unsafe<Record<string, string[]>>({
        type: 'object',
        description: `Named lists of addresses, at most ${MAX_ADDRESSES} in all.`,
        propertyNames: { pattern: NAME },
        maxProperties: MAX_LISTS,
        additionalProperties: Type.Array(addressSchema, { maxItems: MAX_ADDRESSES }),
        examples: [{ payroll: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'] }],
      }),
    ),
    rules: Type.Array(ruleSchema, { maxItems: MAX_RULES, description: 'Their order says nothing.' }),
  }),
)
