/** Leadership: a leader that cannot renew its lease stops, and starts again when it can. */
import t from 'tap'
import { lead, pause } from '../../src/event-log/lead.ts'
import type { Lease } from '../../src/event-log/leases.ts'

t.test('a lease that cannot be renewed ends the task, not the process, and is taken again', async (t) => {
  const stop = new AbortController()
  let terms = 0
  const renew = () => Promise.reject(new Error('the database is away'))
  const lease: Lease = {
    name: 'leader',
    fence: 1n,
    renew,
    keep: renew,
    during: (work) => work(),
    release: () => Promise.reject(new Error('the database is away')),
  }
  const settings = {
    leases: { acquire: async () => lease },
    name: 'leader',
    leaseMs: 30,
    signal: stop.signal,
    onError: (error: unknown) => void t.fail(String(error)),
  }
  await lead(settings, async (_lease, signal) => {
    terms += 1
    if (terms === 2) stop.abort()
    // A task ends when it can: a rejection unhandled by then would end the process.
    while (!signal.aborted) await pause(5, signal)
    await new Promise((resolve) => setTimeout(resolve, 20))
  })
  t.equal(terms, 2)
})
