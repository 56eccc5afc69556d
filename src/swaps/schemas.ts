/** Schemas of the requests and responses about swaps. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { amountSchema, closedObject, idSchema, instant, nullable, oneOf, searchText } from '../http/schemas.ts'
import { callerSchemas } from '../transactions/caller-schemas.ts'
import { gasPrioritySchema } from '../transactions/schemas.ts'
import { AMOUNT_TYPES } from './events.ts'
import { PRICE_ISSUES } from './quote.ts'

/** Every slippage is below this; an installation may allow less. */
const LARGEST_SLIPPAGE_BPS = 5_000
const LARGEST_IMPACT_BPS = 5_000
/** Below a minute, a swap may expire before a block takes its approval; beyond a day its price means nothing. */
const DEADLINE_SECONDS = { minimum: 60, maximum: 86_400 }

export const DEFAULT_TERMS = {
  amountType: 'exact_input',
  slippageBps: 50,
  maxPriceImpactBps: 300,
  deadlineSeconds: 600,
} as const

export const walletParams = closedObject({ wallet_id: idSchema('wal', 'The id of the wallet.') })

const assetName = (description: string, example: string) =>
  searchText(128, { description, minLength: 1, examples: [example] })

export const quoteBody = closedObject({
  from_asset: assetName('The asset to sell: a symbol, a contract address, or an `asset_id`.', 'ETH'),
  to_asset: assetName('The asset to buy: a symbol, a contract address, or an `asset_id`.', 'USDC'),
  amount: {
    ...amountSchema,
    description:
      'A decimal string such as `"1.5"`: of `from_asset` if `amount_type` is `exact_input`, of `to_asset` if it is `exact_output`.',
  },
  amount_type: Type.Optional(
    oneOf(AMOUNT_TYPES, {
      description: 'Which amount is fixed: what is sold (the default) or what is bought.',
      examples: ['exact_input'],
    }),
  ),
  slippage_bps: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LARGEST_SLIPPAGE_BPS,
      description:
        'How much worse than quoted the swap may be executed, in hundredths of a percent. The default is 50, which is 0.5 %. The ' +
        'operator can set a lower maximum.',
      examples: [50],
    }),
  ),
  max_price_impact_bps: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LARGEST_IMPACT_BPS,
      description:
        'How far the swap may move the price against itself, without the fees of the pools, in hundredths of a percent. A swap with a ' +
        'higher impact is refused. The default is 300.',
      examples: [300],
    }),
  ),
  deadline_seconds: Type.Optional(
    Type.Integer({
      ...DEADLINE_SECONDS,
      description: 'How long after its acceptance the swap may still be executed, in seconds. The default is 600.',
      examples: [600],
    }),
  ),
})

const bps = (description: string, example: number) => Type.Integer({ description, examples: [example] })
const text = (description: string, example: string) => Type.String({ description, examples: [example] })
const SPENDER = '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45'
const POOL = '0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640'
const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

const hopSchema = Type.Object({
  from: text('The token that goes into the pool. The wrapped token stands for the native currency.', WETH),
  to: text('The token that comes out.', USDC),
  pool: text('The address of the pool.', POOL),
  fee_bps: Type.Number({ description: 'The fee of the pool, in hundredths of a percent.', examples: [5] }),
})

const legSchema = Type.Object({
  venue: nullable(
    text('The exchange, as the operator named it. Null for a wrap and for a hosted source.', 'uniswap-v3'),
  ),
  protocol: oneOf(['v2', 'v3', 'wrap', 'unwrap', '0x'], {
    description:
      'The kind of the pools; `wrap` and `unwrap` for the native currency and its wrapped token, one to one; or the hosted source of the call data.',
    examples: ['v3'],
  }),
  contract: text(
    'The contract that the swap calls: a router, the wrapped token, or the guard for a route of the hosted source.',
    SPENDER,
  ),
  pool: nullable(text('The pool, if there is only one. `hops` lists all of them.', POOL)),
  fee_bps: bps('The fees of all pools of this part, in hundredths of a percent, rounded up.', 5),
  share_bps: bps('The part of the sold amount that takes this path, in hundredths of a percent.', 10_000),
  hops: Type.Array(hopSchema, { description: 'The pools in order. Empty for a wrap.' }),
})

const feeSchema = Type.Object(
  {
    currency: text('The native currency.', 'ETH'),
    approval: text('Expected fee of the approvals. `0` if none is needed.', '0'),
    swap: text('Expected fee of the swap.', '0.00013'),
    max: text('The most that all of them can cost. This amount is held.', '0.0005'),
  },
  { description: 'Network fees, as decimal strings of the native currency.' },
)

const approvalSchema = Type.Object(
  {
    needed: Type.Boolean({ description: 'Whether the swap sends an approval first.', examples: [false] }),
    spender: nullable(text('The contract that takes the token. Null for the native currency.', SPENDER)),
    amount: text('The approved amount: exactly the most that the swap can take, never unlimited.', '0'),
    reset_first: Type.Boolean({
      description: 'Whether the token needs an approval of 0 before it: it refuses to change one that is not 0.',
      examples: [false],
    }),
  },
  { description: 'The allowance of the router.' },
)

const issuesSchema = Type.Object(
  {
    allowance: nullable(
      Type.Object(
        {
          spender: text('The contract that takes the token.', SPENDER),
          actual: text('What it may take now.', '0'),
          needed: text('What the swap needs.', '1500'),
        },
        { description: 'The router may not take enough yet: the swap approves it. Null if no approval is needed.' },
      ),
    ),
    balance: nullable(
      Type.Object(
        {
          asset: text('The asset that the wallet lacks.', 'ETH'),
          actual: text('What the wallet can spend.', '0.5'),
          needed: text('What the swap needs, with the highest fee if it is the native currency.', '1.0005'),
        },
        { description: 'The wallet cannot pay for the swap. Null if it can.' },
      ),
    ),
    simulation: nullable(
      Type.Object(
        {
          code: oneOf(['reverted', 'insufficient_balance', 'could_not_simulate', 'simulated_with_code'], {
            description:
              '`reverted`: the swap would fail. `simulated_with_code`: it succeeds, but was simulated with code at the address of the wallet. The others say why the swap could not be simulated, so that `to_amount` is not verified.',
            examples: ['insufficient_balance'],
          }),
          reason: text('The reason, for people.', 'The swap was not simulated: the wallet cannot pay the amount.'),
        },
        { description: 'The swap did not succeed in a simulation of what would be sent. Null if it did.' },
      ),
    ),
    price_impact: nullable(
      Type.Object(
        { price_impact_bps: bps('The price impact, in hundredths of a percent.', 140) },
        { description: 'The price impact is above 1 %, although within `max_price_impact_bps`. Null if it is not.' },
      ),
    ),
    price: nullable(
      Type.Object(
        {
          code: oneOf(PRICE_ISSUES, {
            description:
              '`differs_from_feeds`: the swap, or a pool on its way, differs from the price feeds by more than 3 %. `pools_disagree`: another ' +
              'path has a price that is better by more than 3 %, but cannot be used. `pools_unanswered`: some pools could not be asked. ' +
              '`no_feed`: an asset has no price feed, so nothing shows whether the pools have the price of the market.',
            examples: ['no_feed'],
          }),
          difference_bps: nullable(
            bps('By how much, in hundredths of a percent. Null if nothing can be compared.', 420),
          ),
          reason: text('The reason, for people.', 'An asset has no price feed: compare the price before you swap.'),
        },
        { description: 'The price of the route may not be that of the market. Null if nothing says so.' },
      ),
    ),
  },
  {
    description: 'What stands in the way of the swap, or may not be intended. Each is null if there is no such issue.',
  },
)

export const quoteSchema = named(
  'SwapQuote',
  Type.Object({
    quote_id: idSchema('quo', 'The id of the quote. A swap can use it once, until it expires.'),
    wallet_id: idSchema('wal', 'The id of the wallet.'),
    from_asset: text('The symbol of the sold asset.', 'ETH'),
    to_asset: text('The symbol of the bought asset.', 'USDC'),
    amount_type: oneOf(AMOUNT_TYPES, { description: 'Which amount is fixed.', examples: ['exact_input'] }),
    from_amount: text('What the wallet sells, after the fees of the pools. Exact for `exact_input`.', '1.5'),
    to_amount: text('What the wallet buys. Exact for `exact_output`.', '4497.75'),
    min_to_amount: nullable(
      text(
        'The least that the wallet receives, rounded up: below it the swap fails. Null for `exact_output`.',
        '4475.26125',
      ),
    ),
    max_from_amount: nullable(
      text('The most that the wallet sells, rounded down: above it the swap fails. Null for `exact_input`.', '1.5075'),
    ),
    price: text('`to_amount` for one unit of `from_asset`, rounded down to 18 decimals.', '2998.5'),
    slippage_bps: bps('The accepted slippage, in hundredths of a percent.', 50),
    max_price_impact_bps: bps('The accepted price impact, in hundredths of a percent.', 300),
    deadline_seconds: bps('How long after its acceptance the swap may be executed, in seconds.', 600),
    price_impact_bps: bps(
      'How far the swap moves the price against itself, without the fees of the pools, in hundredths of a percent, rounded up.',
      3,
    ),
    lp_fee_bps: bps('The fees of the pools, in hundredths of a percent of the sold amount, rounded up.', 5),
    value_difference_bps: nullable(
      bps(
        'What the swap loses against the price feeds, in hundredths of a percent, rounded up. Negative for a gain. Null if an asset has no price feed.',
        5,
      ),
    ),
    route: Type.Array(legSchema, { description: 'The parts of the swap. They share one transaction.' }),
    fee: feeSchema,
    approval: approvalSchema,
    issues: issuesSchema,
    block_number: bps('The block at which everything was read.', 21_000_000),
    expires_at: instant('When the quote expires.'),
  }),
)

/** A stored quote, or the fields of one: the route checks which belong together. */
/** A swap has a deadline of its own. */
const { valid_until: _, ...notDeadline } = callerSchemas

export const swapBody = closedObject({
  quote_id: Type.Optional(
    idSchema(
      'quo',
      'A quote of this wallet that has not expired. Each can be used once. Without it, send the fields of a quote.',
    ),
  ),
  ...Type.Partial(quoteBody).properties,
  gas_priority: Type.Optional(gasPrioritySchema),
  ...notDeadline,
})
