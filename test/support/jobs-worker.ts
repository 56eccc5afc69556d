/**
 * A process that takes jobs, says so, and never ends them, or fails them: for tests that kill it. It ends when its standard
 * input does, that is with its parent. Arguments: database URL, Redis URL, by how many ms its clock is ahead, `fail`.
 */
import { createJobs } from '../../src/jobs/create-jobs.ts'

const [databaseUrl = '', redisUrl = '', aheadMs = '0', then = 'hold'] = process.argv.slice(2)
const now = Date.now
Date.now = () => now() + Number(aheadMs)
const log = { info: () => undefined, warn: () => undefined }
const jobs = createJobs({ databaseUrl, redisUrl: redisUrl || undefined, graceMs: 0, log })
jobs.process(
  'lane',
  async (_data, { id }) => {
    process.stdout.write(`${id}\n`)
    if (then === 'fail') throw new Error('as it was told')
    await new Promise(() => undefined)
  },
  { concurrency: 2 },
)
process.stdin.resume().on('end', () => process.exit())
