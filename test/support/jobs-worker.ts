/**
 * A process that takes jobs, reports them, and never finishes them, or fails them: for tests that kill it. It exits
 * when its standard input closes, that is with its parent. Arguments: database URL, Redis URL, how far its clock is
 * ahead in ms, `fail`.
 */
import { QUEUE_LIMITS } from '../../src/declarations.ts'
import { createJobs } from '../../src/jobs/create-jobs.ts'

const [databaseUrl = '', redisUrl = '', aheadMs = '0', then = 'hold'] = process.argv.slice(2)
const now = Date.now
Date.now = () => now() + Number(aheadMs)
const log = { info: () => undefined, warn: () => undefined }
const jobs = createJobs({ queues: QUEUE_LIMITS, databaseUrl, redisUrl: redisUrl || undefined, graceMs: 0, log })
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
