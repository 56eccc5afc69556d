/**
 * A process that takes jobs, says so, and never ends them: for tests that kill it. It ends when its standard input does,
 * that is with its parent. Arguments: database URL, Redis URL.
 */
import { createJobs } from '../../src/jobs/create-jobs.ts'

const [databaseUrl = '', redisUrl = ''] = process.argv.slice(2)
const log = { info: () => undefined, warn: () => undefined }
const jobs = createJobs({ databaseUrl, redisUrl: redisUrl || undefined, graceMs: 0, log })
jobs.process(
  'lane',
  async (_data, { id }) => {
    process.stdout.write(`${id}\n`)
    await new Promise(() => undefined)
  },
  { concurrency: 2 },
)
process.stdin.resume().on('end', () => process.exit())
