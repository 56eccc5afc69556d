/** What a process reads or records before it starts waits for the database, and for nothing else. */
import t from 'tap'
import { whenDatabaseAnswers } from '../../src/compose/check-database.ts'
import { Conflict, Unavailable } from '../../src/core/errors.ts'
import { createLogger } from '../../src/logging.ts'

const RETRY_MS = 1
const down = Object.assign(new Error('cannot execute INSERT in a read-only transaction'), { code: '25006' })
const cut = Object.assign(new Error('terminating connection'), { code: '57P01' })

function answering(errors: readonly Error[]) {
  const left = [...errors]
  const stop = new AbortController()
  const logger = createLogger({ level: 'silent', processName: 'test' })
  const run = whenDatabaseAnswers(
    { logger },
    stop.signal,
    async () => {
      const error = left.shift()
      if (error !== undefined) throw error
      return 'read'
    },
    RETRY_MS,
  )
  return { run, left, stop }
}

t.test('a start waits while the database is down, read-only, or answers an append with its name', async (t) => {
  const appended = new Unavailable('database_unavailable', 'The database is not available.', { cause: cut })
  const { run, left } = answering([down, cut, appended])
  t.equal(await run, 'read')
  t.strictSame(left, [])
})

t.test('another error ends it at once', async (t) => {
  const wrong = new Conflict('tag_key_wrong', 'The key is another.')
  const { run, left } = answering([wrong, down])
  await t.rejects(run, wrong)
  t.strictSame(left, [down])
})

t.test('a process that is stopping does not wait', async (t) => {
  const { run, stop } = answering(Array.from({ length: 1_000_000 }, () => down))
  stop.abort()
  await t.rejects(run, { name: 'AbortError' })
})
