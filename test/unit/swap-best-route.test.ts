/** The search for a route beside an exhaustive one, for a few generated pairs. The long test has all of them. */
import t from 'tap'
import { type Compared, compareWithBest, summarize } from '../support/amm/compare.ts'

t.test('quotes are close to the best route that there is, in three round trips', async (t) => {
  const compared: Compared[] = []
  for (let seed = 0; seed < 4; seed += 1)
    for (const order of [
      { seed, usd: 10_000, amountType: 'exact_input' },
      { seed, usd: 1_000_000, amountType: 'exact_input' },
      { seed, usd: 100_000, amountType: 'exact_output' },
    ] as const) {
      const one = await compareWithBest(order)
      if (one !== null) compared.push(one)
    }
  const { within2, worstBps, mostTrips } = summarize(compared)
  t.equal(within2, 1, `the worst is ${worstBps.toFixed(2)} bps behind`)
  t.equal(mostTrips, 3)
  t.ok(
    compared.some(({ legs }) => legs > 2),
    'some are split over more than two paths',
  )
})
