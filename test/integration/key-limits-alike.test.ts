/** Limits that any key may get: none lets more be spent than those before, and the append judges them as the service does. */
import fc from 'fast-check'
import t from 'tap'
import { isWithinLimits, type KeyLimit, spendLimitsOf } from '../../src/core/key-limits.ts'
import { reserve } from '../../src/core/spend-limits.ts'
import { withDatabase } from '../support/postgres.ts'

const SEED = Number(process.env.KEY_LIMITS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const NOW = '2026-12-01T00:00:00.000Z'
const ASSETS = ['A', 'B', 'C']

/** Also such as no key gets: the login of the API could append them. */
const anyLimit: fc.Arbitrary<KeyLimit> = fc
  .record({
    what: fc.constantFrom('A', 'B', 'usd', 'transactions', 'requests'),
    holder: fc.constantFrom('k1', 'k2', 'k3'),
    named: fc.option(fc.constantFrom('A', 'usd'), { freq: 4 }),
    windowSeconds: fc.constantFrom(3_600, 86_400),
    amount: fc.constantFrom('1', '2'),
    inherited: fc.boolean(),
  })
  .map(({ what, holder, named, windowSeconds, amount, inherited }) => {
    const counter = `${holder} ${named ?? what} ${windowSeconds}`
    const kind = ASSETS.includes(what) ? { of: 'asset', assetId: what, symbol: what, decimals: 1 } : { of: what }
    return { counter, windowSeconds, amount, inherited, ...kind } as KeyLimit
  })

/** Limits, and others that are often like them. */
const anyChange = fc.array(anyLimit, { maxLength: 4 }).chain((before) =>
  fc
    .tuple(
      fc.shuffledSubarray(before, { minLength: Math.max(0, before.length - 1) }),
      fc.array(before.length === 0 ? anyLimit : fc.oneof(anyLimit, fc.constantFrom(...before)), { maxLength: 3 }),
      fc.boolean(),
    )
    .map(([kept, more, inherited]) => ({
      before,
      after: [...kept, ...more.map((limit) => ({ ...limit, inherited }))],
    })),
)

const spendable = (limits: readonly KeyLimit[]) =>
  ASSETS.filter((assetId) => {
    const asked = { assetId, symbol: assetId, decimals: 1, amount: 10n, usd: '1', isFee: false }
    return Array.isArray(reserve(spendLimitsOf(limits), [asked], NOW))
  })

t.test(
  `no change that is let in opens an asset, in the service and in the append (KEY_LIMITS_SEED=${SEED})`,
  async (t) => {
    const { pool } = await withDatabase(t)
    const changes = fc.sample(anyChange, { numRuns: 20_000, seed: SEED })
    const { rows } = await pool.query<{ let_in: boolean }>(
      `SELECT are_limits_within(c->'after', c->'before') AS let_in
       FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS x(c, n) ORDER BY n`,
      [JSON.stringify(changes)],
    )
    const judged = changes.map((change, n) => ({
      ...change,
      here: isWithinLimits(change.after, change.before),
      there: rows[n]?.let_in,
    }))
    t.strictSame(judged.filter(({ here, there }) => here !== there).slice(0, 1), [], 'both judge alike')
    const letIn = judged.filter(({ here, before }) => here && before.length > 0)
    const opened = letIn.filter(({ before, after }) => {
      const had = spendable(before)
      return spendable(after).some((asset) => !had.includes(asset))
    })
    t.strictSame(opened.slice(0, 1), [], 'nothing is opened')
    t.ok(letIn.length > 1_000 && judged.some(({ here }) => !here), `${letIn.length} were let in`)
  },
)
