/** Arbitrary policies and requests, whose conditions often meet. */
import fc from 'fast-check'
import { ACTIONS, PERS } from '../../src/core/policy.ts'
import { ANY, type Intent, intentOf, type Judged, keyOf, type Moved } from '../../src/policies/intent.ts'
import type { SentAmong, SentMatch, SentRule } from '../../src/policies/sent-policy.ts'
import { ALICE, ASSETS, BOB, CAROL, KEY, MALLORY, PRICES } from './policies.ts'

const ADDRESSES = [ALICE, BOB, CAROL, MALLORY]
/** Of requests about a wallet. */
const WALLET_ACTIONS = ACTIONS.filter((action) => action !== 'api_key_change')
const METHODS = ['0xa9059cbb', '0x095ea7b3', '0x12345678']
const FIRST_MS = Date.parse('2026-11-01T00:00:00.000Z')
const maybe = <Name extends string, T>(name: Name, arbitrary: fc.Arbitrary<T>) =>
  fc
    .option(arbitrary, { nil: undefined, freq: 2 })
    .map((value) => (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: T })

function among(values: readonly string[]): fc.Arbitrary<SentAmong> {
  return fc
    .tuple(fc.boolean(), fc.subarray([...values]))
    .map(([isIn, items]) => (isIn ? { in: items } : { not_in: items }))
}

const bounds = fc
  .tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 3_000 }))
  .map(([gte, more]) => ({ gte: `${gte}`, lt: `${gte + more}` }))

const matchOf: fc.Arbitrary<SentMatch> = fc
  .tuple(
    maybe('actions', fc.subarray([...ACTIONS], { minLength: 1 })),
    maybe('wallet_tags', among(['hot', 'cold'])),
    maybe('recipients', among([...ADDRESSES, 'friends', 'own_wallets'])),
    maybe('spenders', among(ADDRESSES)),
    maybe('methods', among(METHODS)),
    maybe('assets', among(ASSETS.map(({ assetId }) => assetId))),
    maybe('amount_usd', bounds),
    maybe('unlimited', fc.boolean()),
  )
  .map((parts) => Object.assign({}, ...parts) as SentMatch)

const limitOf = fc
  .tuple(
    fc.oneof(
      fc.integer({ min: 0, max: 8 }).map((count) => ({ count })),
      fc.integer({ min: 0, max: 9_000 }).map((usd) => ({ amount_usd: `${usd}` })),
      fc
        .tuple(fc.constantFrom(...ASSETS), fc.integer({ min: 0, max: 5 }))
        .map(([{ assetId }, amount]) => ({ asset_id: assetId, amount: `${amount}` })),
    ),
    fc.constantFrom(3_600, 7_200, 86_400),
    fc.constantFrom(...PERS),
  )
  .map(([amount, window_seconds, per]) => ({ ...amount, window_seconds, per }))

const approval = fc.record({ group: fc.constantFrom('a', 'b'), quorum: fc.integer({ min: 1, max: 3 }) })

const ruleOf: fc.Arbitrary<Omit<SentRule, 'id'>> = fc.oneof(
  fc.record({ effect: fc.constantFrom('allow', 'deny'), match: matchOf }),
  fc.record({ effect: fc.constant('limit' as const), match: matchOf, limit: limitOf }),
  fc.record({ effect: fc.constant('require_approval' as const), match: matchOf, approval }),
)

/** Limits about many requests. */
const wideLimit: typeof ruleOf = fc.record({
  effect: fc.constant('limit' as const),
  match: fc.constantFrom<SentMatch>({}, { wallet_tags: { in: ['hot'] } }, { recipients: { not_in: ['own_wallets'] } }),
  limit: limitOf,
})

/** Rules with ids, in the order of their ids. */
export const rulesOf = (maxLength: number): fc.Arbitrary<readonly SentRule[]> => withIds(ruleOf, maxLength)
export const wideLimitsOf = (maxLength: number): fc.Arbitrary<readonly SentRule[]> => withIds(wideLimit, maxLength)

const withIds = (of: typeof ruleOf, maxLength: number): fc.Arbitrary<readonly SentRule[]> =>
  fc
    .array(of, { minLength: 1, maxLength })
    .map((rules) => rules.map((rule, n) => ({ ...rule, id: `r${String(n).padStart(2, '0')}` })))

export const LISTS = { friends: [ALICE, CAROL] }

const movesOf: fc.Arbitrary<Moved | null> = fc.option(
  fc
    .tuple(fc.constantFrom(...ASSETS), fc.oneof(fc.integer({ min: 0, max: 4_000 }), fc.constant(ANY)), fc.boolean())
    .map(([{ assetId, symbol, decimals, contract }, amount, isPriced]) => ({
      key: keyOf(1, contract),
      symbol,
      decimals,
      amount: amount === ANY ? ANY : (BigInt(amount) * 10n ** BigInt(decimals)) / 1_000n,
      price:
        isPriced && PRICES[assetId] !== undefined
          ? { usd: PRICES[assetId], at: new Date(FIRST_MS).toISOString() }
          : null,
    })),
  { freq: 6 },
)
const addressOf = fc.oneof(
  fc.constantFrom(null, ANY),
  ...ADDRESSES.map((address) => fc.constant(address.toLowerCase())),
)
const intentsOf: fc.Arbitrary<Intent> = fc
  .tuple(
    fc.subarray(WALLET_ACTIONS, { minLength: 1, maxLength: 2 }),
    addressOf,
    addressOf,
    fc.constantFrom(null, ANY, ...METHODS),
    movesOf,
  )
  .map(([actions, recipient, spender, method, moves]) =>
    intentOf({ actions, recipient, isToOwnWallet: recipient === CAROL.toLowerCase(), spender, method, moves }),
  )

/** @param spreadMs how far the clocks of requests are apart */
export const requestOf = (spreadMs: number): fc.Arbitrary<Judged> =>
  fc
    .tuple(
      fc.array(intentsOf, { minLength: 1, maxLength: 4 }),
      fc.subarray(['hot', 'cold']),
      fc.integer({ min: 0, max: spreadMs }),
      movesOf,
    )
    .map(([intents, tags, ms, fee]) => ({
      tenantId: 'acme',
      environment: 'mainnet',
      at: new Date(FIRST_MS + ms).toISOString(),
      apiKey: KEY,
      walletId: 'wal_1',
      tags,
      network: 'ethereum',
      chainId: 1,
      intents,
      fee: fee?.amount === ANY ? null : fee,
    }))
