/** The start of a sandbox waits for a first mpc key, with a time limit. */
import t, { type Test } from 'tap'
import { awaitFirstKey } from '../../src/sandbox/added/mpc-wallets.ts'
import { newId, TERMS, withMpcKeys } from '../support/mpc-log-side.ts'
import { printedBy } from '../support/printed-by.ts'

const MPC = { ...TERMS, poolSize: 1 }

t.test('the start continues once a key of these terms is in the pool', async (t: Test) => {
  const { pool, generateKey } = await withMpcKeys(t)
  await generateKey(newId('mpcKey'), { threshold: 2, parties: 2 })
  const waiting = printedBy(t, () => awaitFirstKey(pool, MPC))
  await generateKey(newId('mpcKey'), TERMS)
  t.match(await waiting, /^ {2}✓ first mpc key +\d+\.\d s\n$/)
})

t.test(
  'the start continues without a key when that takes too long or the database is unavailable, with a warning',
  async (t: Test) => {
    const { pool } = await withMpcKeys(t)
    t.match(
      await printedBy(t, () => awaitFirstKey(pool, MPC, 300)),
      /✗ first mpc key .+\n {2}! the parties did not create an mpc key in 0\.3 seconds: the first mpc wallet gets its address later\n$/,
    )
    const broken = { query: async () => Promise.reject(new Error('the database is away')) } as unknown as typeof pool
    t.match(
      await printedBy(t, () => awaitFirstKey(broken, MPC)),
      /! the database is away: the first mpc wallet gets its address later/,
    )
  },
)

t.test('the start does not wait where no keys are made ahead', async (t: Test) => {
  const { pool } = await withMpcKeys(t)
  for (const mpc of [null, { ...MPC, poolSize: 0 }]) t.equal(await printedBy(t, () => awaitFirstKey(pool, mpc)), '')
})
