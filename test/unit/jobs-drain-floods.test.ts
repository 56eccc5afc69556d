/**
 * What one tenant's flood, or its slow passes, cost the others: their waits beside it are compared with those without it,
 * in simulated time, with the room that a process has.
 */
import t from 'tap'
import { type Load, waitsOf } from '../support/drain-load.ts'

/** With the one that floods there are 50 tenants, and these have 1,000 lanes. */
const OTHERS = { tenants: Array.from({ length: 49 }, (_, n) => `tenant${n}`), lanes: 20 }
/** The p99 beside a flood, as a part of that without it. */
const MOST = 1.3
/** A pass for one request, and one over a full lane. */
const PASS_MS = [20, 60] as const
const FULL_MS = [60, 180] as const
const SEEDS = [1, 2]

const load = (perSecond: number): Load => ({ ...OTHERS, perSecond, passMs: PASS_MS })

for (const perSecond of [50, 200, 600])
  t.test(`1,000 full lanes of one tenant beside 49 tenants with ${perSecond} requests a second`, async (t) => {
    for (const seed of SEEDS) {
      const alone = await waitsOf(load(perSecond), { seed })
      const beside = await waitsOf(load(perSecond), { seed, flood: { lanes: 1_000, passMs: FULL_MS } })
      t.ok(beside.passes > 1_000, `${beside.passes} passes of the flood`)
      t.equal(beside.waits.length, alone.waits.length)
      t.ok(beside.p99 <= MOST * alone.p99, `seed ${seed}: ${beside.p99} ms, ${alone.p99} ms without the flood`)
    }
  })

t.test('1,000 lanes of one tenant whose passes take 30 seconds beside the others', async (t) => {
  const alone = await waitsOf(load(100), { seed: 1 })
  const beside = await waitsOf(load(100), { seed: 1, flood: { lanes: 1_000, passMs: [30_000, 30_000] } })
  t.equal(beside.passes, 56, 'they hold all the room that one tenant may have')
  t.ok(beside.p99 <= MOST * alone.p99, `${beside.p99} ms, ${alone.p99} ms without them`)
})

t.test(
  '702 lanes that wait for funds: a lane of their tenant is served at once, and they are seldom tried',
  async (t) => {
    const short = { lanes: 702, passMs: PASS_MS, ends: 'waits' } as const
    const own = (perSecond: number): Load => ({ tenants: ['flood'], lanes: 1, perSecond, passMs: PASS_MS })
    for (const perSecond of [5, 50]) {
      const { passes, longest } = await waitsOf(own(perSecond), { seed: 1, flood: short })
      // At once, after 1 and after 3 seconds; once more for the few that a search finds during their pass.
      t.ok(passes <= 3.3 * 702, `${passes} passes beside ${perSecond} requests a second`)
      t.ok(longest < 1_000, `${longest} ms`)
    }
  },
)
