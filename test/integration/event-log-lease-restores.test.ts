/** Leases of a database that went back: what was forgotten of them is not given again. */
import t from 'tap'
import { FenceLost } from '../../src/event-log/append.ts'
import { createLeases, type Lease } from '../../src/event-log/leases.ts'
import { withLog } from '../support/log.ts'

t.test('a holder from before a restore has no fence that is given after it', async (t) => {
  const { pool, log } = await withLog(t)
  const [before, after] = ['before', 'after'].map((holder) => createLeases({ pool, holder, leaseMs: 60_000 }))
  await (await before?.acquire('lane'))?.release({ force: true })
  const { rows } = await pool.query("SELECT fence FROM leases WHERE name = 'lane'")
  const paused = (await before?.acquire('lane')) as Lease
  // The restore has the row of before, and the server was started again.
  const row =
    "UPDATE leases SET fence = $1, holder = NULL, expires_at = NULL, server_start = server_start - interval '1 hour'"
  await pool.query(row, [rows[0].fence])
  const taken = (await after?.acquire('lane')) as Lease
  t.not(taken.fence, paused.fence)
  t.equal(await paused.renew(), false)
  await t.rejects(log.append({ decisions: [], guards: { fence: paused } }), FenceLost)
  t.equal(await taken.renew(), true)
  await taken.release({ force: true })
  t.equal((await after?.acquire('lane'))?.fence, taken.fence + 1n, 'later ones follow one by one')
})
