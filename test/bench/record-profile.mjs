/** Loaded by `--import`: writes the CPU profile of the process into `BENCH_PROFILES` when it ends. */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.start')
process.once('exit', () => {
  session.post('Profiler.stop', (error, answer) => {
    if (error === null)
      writeFileSync(join(process.env.BENCH_PROFILES ?? '', `${process.pid}.cpuprofile`), JSON.stringify(answer.profile))
  })
})
