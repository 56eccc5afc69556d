/** Connections of the queue that break at any moment: no process ends by it, and the jobs run. */
import t from 'tap'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { openJobs } from '../support/job-places.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'

t.test('a connection that breaks while a worker opens its queue does not end the process', async (t) => {
  const { url } = await withDatabase(t)
  const proxy = await startDatabaseProxy(() => Number(new URL(url).port))
  t.after(proxy.close)
  const behind = new URL(url)
  behind.port = String(proxy.port)
  // Each of the first statements of each kind is cut: the schema's migration, the look at its version, the first fetches.
  const cut = new Map<string, number>()
  const CUTS_EACH = 2
  proxy.decide = (text) => {
    const kind = text.slice(0, 80)
    const times = cut.get(kind) ?? 0
    cut.set(kind, times + 1)
    return times < CUTS_EACH ? 'cut before' : 'pass'
  }
  const jobs = openJobs(t, { databaseUrl: behind.href })
  const ran = new Set<string>()
  jobs.process('lane', async (_, { id }) => void ran.add(id), { concurrency: 2 })
  await eventually(async () => {
    await jobs.add([{ queue: 'lane', id: 'one', data: { lane: 'one' } }])
    return ran.has('one')
  })
  t.ok((proxy.struck.get('cut before') ?? 0) > CUTS_EACH, `${proxy.struck.get('cut before')} connections broke`)
})

t.end()
