/** Which keys the parties generate. */
import t from 'tap'
import { coversGeneration } from '../../src/mpc-wallets/covers.ts'

const DAY_MS = 24 * 60 * 60_000
const terms = { threshold: 2, parties: 3 }
const facts = { waiting: [terms], pooled: 0, pool: { ...terms, size: 0 }, unrecorded: 0, idAgeMs: 0 }

t.test('a key that a wallet waits for is generated, under a new id only', async (t) => {
  t.ok(coversGeneration(terms, facts).covered)
  t.ok(coversGeneration(terms, { ...facts, idAgeMs: DAY_MS }).covered)
  t.match(coversGeneration(terms, { ...facts, idAgeMs: 31 * DAY_MS }), { covered: false, rule: /not a new one/ })
  t.notOk(coversGeneration({ ...terms, threshold: 3 }, facts).covered)
})
