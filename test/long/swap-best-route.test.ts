/** The search for a route beside an exhaustive one: 40 generated pairs, six sizes, both kinds of amount. */
import t from 'tap'
import { type Compared, compareWithBest, summarize } from '../support/amm/compare.ts'

const PAIRS = 40
const SIZES = [10, 100, 1_000, 10_000, 100_000, 1_000_000]

t.test('quotes are within 2 bps of the best route in 95 of 100 cases, and within 10 bps in all', async (t) => {
  const compared: Compared[] = []
  for (let seed = 0; seed < PAIRS; seed += 1)
    for (const usd of SIZES)
      for (const amountType of ['exact_input', 'exact_output'] as const) {
        const one = await compareWithBest({ seed, usd, amountType })
        if (one === null) continue
        compared.push(one)
        t.ok(one.lossBps <= 10, `pair ${seed}, ${usd} USD, ${amountType}: ${one.lossBps.toFixed(2)} bps`)
      }
  const summary = summarize(compared)
  t.comment(JSON.stringify(summary))
  t.ok(summary.within2 >= 0.95, `${summary.within2} are within 2 bps`)
  t.ok(summary.mostTrips <= 3, `${summary.mostTrips} round trips`)
})
