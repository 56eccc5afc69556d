// Lets every thread load TypeScript: `node --import ./test/support/typescript.mjs`. `--import=tsx` does this for the
// main thread only. With TEST_TIMES=<file>, each test file adds a line to that file: its processor time, with children.
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { register } from 'tsx/esm/api'

const TICKS_A_SECOND = 100
const [, file = ''] = process.argv
const times = process.env.TEST_TIMES

if (isMainThread && times !== undefined && file.endsWith('.test.ts'))
  process.on('exit', () => {
    // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: utime, stime, cutime and cstime, counted from `state`.
    const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(/\) (?=[A-Z] )/)
    const ticks = fields
      .split(' ')
      .slice(11, 15)
      .reduce((sum, field) => sum + Number(field), 0)
    appendFileSync(times, `${relative(process.cwd(), file)} ${ticks / TICKS_A_SECOND}\n`)
  })

register()
