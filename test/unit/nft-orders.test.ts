/**
 * Random orders of mint, redeem (ours, an outsider's), revoke, burn, transfer, cancel and reorg: after every block the status, the
 * holders and the public events of each mint are those of the chain. The seed of a failure is printed.
 */
import fc from 'fast-check'
import t from 'tap'
import { STEPS, VoucherWorld } from '../support/voucher-world.ts'

t.test('whatever the order, status, holders and events of a voucher are those of the chain', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`seed ${seed}`)
  const steps = fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.nat(19)), { minLength: 1, maxLength: 40 })
  const property = fc.asyncProperty(steps, async (taken) => {
    const world = new VoucherWorld()
    for (const [step, n] of taken) {
      world.take(step, n)
      if (step === 'mine' || step === 'reorg') await world.check()
    }
  })
  await fc.assert(property, { seed, numRuns: 300, verbose: 1 })
})
