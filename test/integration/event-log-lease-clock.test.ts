/** Leases when the database's clock is set: a dead holder loses its lease, and a live one keeps it. */
import t, { type Test } from 'tap'
import { createLeases } from '../../src/event-log/leases.ts'
import { withDatabase } from '../support/postgres.ts'

/** Longer than the machine ever pauses: only the clock takes a lease from its holder. */
const LEASE_MS = 60_000

async function withTwo(t: Test) {
  const { pool } = await withDatabase(t)
  const [one, other] = ['one', 'other'].map((holder) => createLeases({ pool, holder, leaseMs: LEASE_MS }))
  if (one === undefined || other === undefined) throw new Error('a holder is missing')
  const held = await one.acquire('lane')
  if (held === null) throw new Error('the lease is not free')
  /** Setting the clock back has the same effect as times an hour too late in the rows. */
  const setBack = (by: string) => pool.query('UPDATE leases SET expires_at = expires_at + $1::interval', [by])
  return { held, other, setBack }
}

t.test(
  'a holder that died before the clock was set back by an hour does not keep its lease for that hour',
  async (t) => {
    const { held, other, setBack } = await withTwo(t)
    t.equal(await other.acquire('lane'), null, 'the lease is held')
    await setBack('1 hour')
    const taken = await other.acquire('lane')
    t.equal(taken?.fence, held.fence + 1n)
    t.equal(await held.renew(), false, 'the earlier holder cannot renew its lease')
  },
)

t.test('a holder that lives and renews keeps its lease when the clock is set back', async (t) => {
  const { held, other, setBack } = await withTwo(t)
  await setBack('1 hour')
  t.equal(await held.renew(), true)
  t.equal(await other.acquire('lane'), null)
})

t.test('a clock that is corrected by less than a lease lasts ends no lease', async (t) => {
  const { held, other, setBack } = await withTwo(t)
  await setBack('30 seconds')
  t.equal(await other.acquire('lane'), null)
  t.equal(await held.renew(), true)
})

t.end()
