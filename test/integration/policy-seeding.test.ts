/** What was spent before a shadow counts in its counters: once, whoever is killed, and never less than what the log has. */
import t from 'tap'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { NATIVE } from '../support/log.ts'
import { policyOf, withPast } from '../support/policy-past.ts'

const DAY = 86_400
const FEE = 42_000n
const TABLES = ['spend_buckets', 'policies', 'policy_versions'] as const
const RUN = new AbortController().signal
const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString()
const cap = policyOf([
  { id: 'cap', effect: 'limit', limit: { asset_id: NATIVE.assetId, amount: '1', window_seconds: DAY } },
])

t.test(
  'requests before the shadow count, as far as the window reaches, and those after it count themselves',
  async (t) => {
    const past = await withPast(t)
    await past.transfer({ amount: 100n, requestedAt: ago(3 * DAY) })
    await past.transfer({ amount: 200n, requestedAt: ago(3_600) })
    const version = await past.shadow(cap)
    t.not(await past.isSeeded(), true)
    await past.transfer({ amount: 400n }, { shadow: { ...cap, version } })
    t.equal(await past.seed(RUN), 1)
    t.ok(await past.isSeeded())
    const counters = await past.spent()
    t.equal(Object.keys(counters).length, 1)
    t.equal(BigInt(Object.values(counters)[0] ?? 0), 600n + 2n * FEE)
    t.equal(await past.seed(RUN), 0, 'nothing is left')
    t.strictSame((await compareLive(past.pool, ALL_AGGREGATES, { tables: TABLES })).differences, [])
    await rebuild(past.pool, ALL_AGGREGATES, { tables: ['spend_buckets'] })
    t.strictSame(await past.spent(), counters)
  },
)

t.test('a shadow of the same limits adds nothing again, and what was missed between two of them', async (t) => {
  const past = await withPast(t)
  await past.transfer({ amount: 100n })
  const first = await past.shadow(cap)
  await past.seed(RUN)
  await past.transfer({ amount: 10n }, { shadow: { ...cap, version: first } })
  await past.endShadow(first)
  await past.transfer({ amount: 1n })
  const other = policyOf([
    ...cap.rules.map(
      () =>
        ({
          id: 'other',
          effect: 'limit',
          limit: { asset_id: NATIVE.assetId, amount: '9', window_seconds: DAY },
        }) as const,
    ),
  ])
  await past.shadow(other)
  await past.seed(RUN)
  const counters = Object.values(await past.spent())
  t.strictSame(counters, [`${111n + 3n * FEE}`], 'the amount and the id of a limit are not what it counts')
})
